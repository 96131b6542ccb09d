// The least that a Node program can do: starts a command, and writes what it prints to a file.
const { spawn } = require('node:child_process');
const { openSync, writeSync } = require('node:fs');

const [command = '', file = ''] = process.argv.slice(2);
const log = openSync(file, 'w');
spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'] }).stdout.on('data', (chunk) => {
  writeSync(log, chunk);
});
