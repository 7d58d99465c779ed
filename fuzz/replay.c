/* SPDX-License-Identifier: MIT */
/*
 * replay.c - a fuzz target without libFuzzer: it runs the files it is given,
 * and those of folders, so that any compiler tests with the corpus.
 *
 * Exit: 0: all ran; 1: no file ran, or one could not be read; 2: no argument.
 */
#define _DEFAULT_SOURCE /* opendir, stat */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz_target.h"

enum {
	INPUT_MAX = 1 << 20,
	NAME_BYTES = 4096
};

static int replay_file(const char *path)
{
	static uint8_t data[INPUT_MAX];
	FILE *f = fopen(path, "rb");
	size_t n;
	int bad;

	if (!f) {
		perror(path);
		return -1;
	}
	n = fread(data, 1, sizeof(data), f);
	bad = ferror(f);
	if (fclose(f) != 0 || bad) {
		perror(path);
		return -1;
	}
	LLVMFuzzerTestOneInput(data, n);
	return 1;
}

static int replay_folder(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	char name[NAME_BYTES];
	int done = 0;
	int n;

	if (!d) {
		perror(path);
		return -1;
	}
	/* One thread, one folder at a time. */
	while (done >= 0 && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		n = snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (n < 0 || (size_t)n >= sizeof(name) || replay_file(name) < 0)
			done = -1;
		else
			done++;
	}
	closedir(d);
	return done;
}

int main(int argc, char **argv)
{
	struct stat st;
	int total = 0;
	int i;

	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE-OR-FOLDER...\n", argv[0]);
		return 2;
	}
	for (i = 1; i < argc; i++) {
		int done;

		if (stat(argv[i], &st) != 0) {
			perror(argv[i]);
			return 1;
		}
		done = S_ISDIR(st.st_mode) ? replay_folder(argv[i])
					   : replay_file(argv[i]);
		if (done < 0)
			return 1;
		total += done;
	}
	printf("%d inputs replayed\n", total);
	return total > 0 ? 0 : 1;
}
