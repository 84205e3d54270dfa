#!/usr/bin/env node
// Committed, so that npm links the command before anything is built.
import '../dist/main.js';
