/* driver.c: runs jobs from stdin, one process for all of them: "number TAB data set TAB folder of outputs". Prints
 * "number TAB status" after each. Ends after a job that fails, as what a fault left on the device is not to be
 * trusted; whoever gave the jobs starts another driver with the rest. */
#include "cameo_main.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const cameo_model *const cases[];
extern const int case_count;

/* Keeps the device's context between jobs: to make it takes longer than a job. */
static void hold_context(void)
{
    void *context, *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*start)(unsigned) = NULL, (*retain)(void **, int) = NULL;
    void *found[2] = {library ? dlsym(library, "cuInit") : NULL,
                      library ? dlsym(library, "cuDevicePrimaryCtxRetain") : NULL};
    memcpy(&start, &found[0], sizeof start);
    memcpy(&retain, &found[1], sizeof retain);
    if (!start || !retain || start(0) != 0 || retain(&context, 0) != 0)
        fprintf(stderr, "no CUDA device\n");
}

static int run_job(int number, char *set, char *out, int stdout_copy)
{
    char path[4096];
    char *argv[] = {(char *)"case", (char *)"--inputs-from", set, (char *)"-o", out,
                    (char *)"--format", (char *)"pb", NULL};
    snprintf(path, sizeof path, "%s/log", out);
    int log = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0666);
    if (log < 0)
        return 99;
    fflush(stdout);
    dup2(log, 1);
    dup2(log, 2);
    close(log);
    int status = cameo_main(cases[number], 7, argv);
    fflush(stdout);
    dup2(stdout_copy, 1);
    return status;
}

int main(void)
{
    static char line[16384];
    int status = 0, stdout_copy = dup(1);
    hold_context();
    while (status == 0 && fgets(line, sizeof line, stdin)) {
        char *number = strtok(line, "\t\n"), *set = strtok(NULL, "\t\n"), *out = strtok(NULL, "\t\n");
        if (!out || atoi(number) < 0 || atoi(number) >= case_count)
            return 98;
        status = run_job(atoi(number), set, out, stdout_copy);
        printf("%s\t%d\n", number, status);
        fflush(stdout);
    }
    return 0;
}
