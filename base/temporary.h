// What one run leaves behind nowhere: a signal that asks the program to end (SIGHUP, SIGINT,
// SIGTERM) removes it first.
#ifndef CAMEO_BASE_TEMPORARY_H
#define CAMEO_BASE_TEMPORARY_H

// A file, or a directory with its files, that there is from now on.
void temporary_keep(const char *path);
// It is gone, or is what it was to become.
void temporary_forget(const char *path);
// Removes all that there is, for who ends without return.
void temporary_end(void);

#endif
