/* SPDX-License-Identifier: MIT */
/* documents.h - what COMMAND DOCS and COMMAND INFO say about the commands. */
#ifndef TKW_REDIS_DOCUMENTS_H
#define TKW_REDIS_DOCUMENTS_H

#include "redis/server.h"

/* The document of a command. It is valid until the next call. */
const struct rm_command_info *tkw__redis_document(const char *command);

#endif /* TKW_REDIS_DOCUMENTS_H */
