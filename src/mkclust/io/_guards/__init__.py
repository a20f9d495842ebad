"""Protection of the readers against malformed and malicious files.

- `limits`: limits on the sizes that a file may state, and errors that name the file.
- `memory`: a limit of the memory of the process while a file is parsed.
- `mat4_tags`, `mat5_tags`: structure of MATLAB files, checked before they are parsed.
- `hdf5`: structure of HDF5 files, checked before they are read.
- `parquet_pages`, `thrift`: pages of Parquet files, checked before they are decoded.
"""
