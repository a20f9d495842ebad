"""Read views from files, and store models.

`reading` has the entry points, `read` and `inspect`. `tables`, `matlab`, `npz` and `h5mu` read one
kind of file each by its library. `roles` decides what is a view, a kernel, the labels or the names.
`untrusted` reads in a child process. `models` saves and loads models.
"""
