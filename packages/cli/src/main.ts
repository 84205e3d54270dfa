#!/usr/bin/env node
import { takeEnvironment } from './environment.js';
import { createTerminal } from './terminal.js';

// First of all: the driver reads variables of its own accord.
const env = takeEnvironment(process.env);
const { run } = await import('./run.js');

// A reader that has seen enough (`comanda effects list | head`) is no error. Nothing else is left to say then.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

const code = await run(process.argv.slice(2), createTerminal(process.stdout, process.stderr, env), env);
// What is written must be out before the process ends; what a configuration left open must not keep it.
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
await new Promise<void>((resolve) => process.stderr.write('', () => resolve()));
process.exit(code);
