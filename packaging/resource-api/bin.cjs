#!/usr/bin/env node
"use strict";
// Starts the command line with the Deno that npm has installed next to this package.
const { spawn } = require("node:child_process");
const { existsSync, readFileSync } = require("node:fs");
const { constants } = require("node:os");
const { delimiter, dirname, join } = require("node:path");

/** Returns the path of Deno. npm may not have run the installation script of the package `deno`. */
function findDeno() {
  const given = process.env.RESOURCE_API_DENO;
  if (given) return given;
  const folder = dirname(require.resolve("deno/package.json"));
  const installed = join(folder, process.platform === "win32" ? "deno.exe" : "deno");
  return existsSync(installed) ? installed : require("deno/install_api.cjs").runInstall();
}

/** Returns the command that the user has typed, as the messages of the service name it. */
function programName() {
  const isOnPath = process.env.PATH?.split(delimiter).includes(dirname(process.argv[1] ?? ""));
  return isOnPath && process.env.npm_command === undefined ? "resource-api" : "npx resource-api";
}

let deno;
try {
  deno = findDeno();
} catch (error) {
  const machine = `${process.platform} ${process.arch}`;
  const [reason] = error.message.split("\n");
  console.error(`Cannot start: npm has no Deno for this machine (${machine}): ${reason}`);
  const version = require("./package.json").dependencies.deno;
  console.error(`Set RESOURCE_API_DENO to the path of Deno ${version} or later.`);
  process.exit(1);
}

// A project has its settings in `.env`. The command `dev` reads this file again at each save.
const isInProject = existsSync("service.config.ts") && existsSync(".env");
const settings = isInProject && process.argv[2] !== "dev" ? ["--env-file=.env"] : [];

// `run FILE` runs a program of the project in place of the command line.
const [command, ...rest] = process.argv.slice(2);
const program = command === "run" && rest.length > 0
  ? rest
  : [join(__dirname, "dist", "cli.js"), ...process.argv.slice(2)];

const args = [
  ...["run", "-A", "--no-lock", "--node-modules-dir=manual"],
  ...["--unstable-kv", "--unstable-cron", "--unstable-net", "--unstable-no-legacy-abort"],
  ...[...settings, ...program],
];
const env = { ...process.env, SERVICE_PROGRAM: process.env.SERVICE_PROGRAM || programName() };

const isRunByNpm = process.env.npm_command !== undefined;

if (typeof process.execve === "function" && process.platform !== "win32" && !isRunByNpm) {
  // Deno replaces Node in this process, so there are no signals to forward.
  process.execve(deno, [deno, ...args], env);
}

// The service ends when this process has ended.
env.SERVICE_RUN_AGAIN_BY = String(process.pid);
const child = spawn(deno, args, { stdio: "inherit", env });
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
// A terminal sends SIGINT to the child, too.
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
if (isRunByNpm) {
  // A signal to npm ends npm, but not this process. Therefore the service also ends after npm.
  const atStart = ancestors();
  setInterval(() => ancestors() === atStart || child.kill("SIGTERM"), 500).unref();
}
child.on("error", (error) => {
  console.error(`Cannot start ${deno}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 1)));

/** Returns the parent process, and its parent on Linux: npm may start a shell for this program. */
function ancestors() {
  const parent = process.ppid;
  try {
    const [, fields] = /\) \S (\d+)/.exec(readFileSync(`/proc/${parent}/stat`, "utf8"));
    return `${parent} ${fields}`;
  } catch {
    return String(parent);
  }
}
