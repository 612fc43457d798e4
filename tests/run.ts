/**
 * Runs the tests: starts what they need, streams their output, and ends with one line,
 * `N passed, N failed, N skipped`. Arguments go to `deno test`; the ones that name files or folders
 * replace the default of everything.
 *
 * Everything is run in parts, on two lanes for each processor: a test waits for disks, for processes
 * and for timers half of its time. Two more lanes run parts that wait for most of their time. A lane
 * has a Postgres of its own: an open transaction in any database of a server holds back the ends of
 * all change logs of that server.
 */
import { pathToFileURL } from "node:url";
import { inMemory, type LaneServers, serversOfLanes } from "./support/lane_servers.ts";
import { diskFolder } from "./support/disk.ts";
import { endedProcesses } from "./support/ended_processes.ts";
import {
  sumOf,
  testOutputReader,
  type TestSummary,
  unnamedReason,
} from "./support/test_summary.ts";

/**
 * Folders that have runs of their own in so many parts, the longest first. Parts that wait for most
 * of their time come last.
 */
const folders: readonly (readonly [folder: string, parts: number, kind?: "waits"])[] = [
  ["tests/live/checker", 1],
  ["tests/repository", 1],
  ["tests/types", 1],
  ["tests/db", 2],
  ["tests/cli", 2],
  ["tests/invariants", 1],
  ["tests/http", 4],
  ["tests/openapi", 1],
  ["tests/examples", 1],
  ["tests/identity", 1],
  ["tests/billing", 1],
  ["tests/client/model", 1],
  // Its clients keep timers, which tests of other files in the same process would be blamed for.
  ["tests/documents/client", 1],
  ["tests/dashboard", 1],
  ["tests/conformance", 1],
  ["tests/serve", 1],
  ["tests/documents", 1],
  ["tests/search", 1, "waits"],
  ["tests/live", 3, "waits"],
  ["tests/client", 2, "waits"],
  ["tests/proxies", 1, "waits"],
];

/** Places of code with examples, which are run with the rest of the tests. */
const examples: readonly string[] = ["src", "exports", "mod.ts", "README.md", "docs"];

/**
 * These run after all others, one for each processor: what they wait for takes seconds of a machine
 * that is as busy as this one, and most of the time they only wait. The longest come first.
 */
const besideOne: readonly (readonly string[])[] = [
  // Eight processes with 100 streams: other tests would wait for them.
  ["tests/examples/cluster"],
  // What a process holds at the most: beside much other work its garbage is collected later.
  ["tests/live/unread_streams_test.ts"],
  // What several pages show within seconds: a browser has processes enough of its own.
  ["tests/client/browser"],
  // What another client waits beside a slow reader, as a multiple of what it waits without one.
  ["tests/live/checker/processes/slow_snapshot_test.ts"],
  ["tests/examples/board_page_test.ts"],
  // That a refusal comes before the work, which its duration shows.
  ["tests/http/batch_filter_test.ts"],
];

/** These measure times by which others are compared, and run last, with the machine for themselves. */
const alone: readonly string[] = [
  // That an unknown address takes as long as a known one, within a tenth.
  "tests/identity/login_timing_test.ts",
  // That /healthz is answered in time while passwords are hashed.
  "tests/identity/login_load_test.ts",
];

const afterOthers: readonly string[] = [...besideOne.flat(), ...alone];

/** Folders of files that are programs of their own: they set the whole process up, or bring it down. */
const apart: readonly string[] = [
  // They bundle as they are loaded, which several files of one program cannot do at once.
  "tests/repository",
  // A framework that is loaded after another one keeps timers.
  "tests/client/bindings",
];

const lanesPerProcessor = 2;
/** Beside those, for parts that wait. */
const waitingLanes = 2;

/** Parts that end at the same time share what is printed of them. */
const processes = endedProcesses();

/** What one `deno test` is called with, after the options that are common to all. */
interface Part {
  readonly name: string;
  readonly args: readonly string[];
  /**
   * Files that are run as one program: what they import is loaded once, and not once for each of
   * them, which is half of the time of most.
   */
  readonly together: readonly string[];
  /** True if the part needs no processor for most of its time. */
  readonly waits?: boolean;
}

if (import.meta.main) Deno.exit(await run(Deno.args));

/** Gives the exit code: 0 when something ran, nothing failed, and every skip named its reason. */
async function run(args: readonly string[]): Promise<number> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  Deno.addSignalListener("SIGINT", stop);
  Deno.addSignalListener("SIGTERM", stop);
  const named = await existing(args);
  const everything = named.length > 0 ? [] : ["tests", "dashboard", ...await existing(examples)];
  if (!args.includes("--no-check") && !await hasRightTypes([...args, ...everything])) {
    report(sumOf([null]));
    return 1;
  }
  const memory = await inMemory();
  const folder = await Deno.makeTempDir({ ...memory, prefix: "resource-api-tests-" });
  // Postgres and OpenSearch run as other users.
  await Deno.chmod(folder, 0o755);
  const environment = {
    TEST_FOLDER: folder,
    // A database of SQLite in memory is a file of the driver's own, and most tests open one.
    ...("dir" in memory && { TMPDIR: folder, TEST_DISK_FOLDER: diskFolder }),
  };
  const servers = serversOfLanes();
  try {
    const processors = navigator.hardwareConcurrency;
    const stages: readonly (readonly [parts: readonly Part[], lanes: number])[] = named.length > 0
      ? [[[partInOrder("", args)], 1]]
      : [
        [await partsOfAll(args), lanesPerProcessor * processors + waitingLanes],
        [besideOne.map((files) => partInOrder("beside one", [...args, ...files])), processors],
        [[partInOrder("alone", [...args, ...alone])], 1],
      ];
    const summaries: TestSummary[] = [];
    for (const [parts, lanes] of stages) {
      summaries.push(
        await runOnLanes(parts, {
          lanes,
          folder,
          environment,
          servers,
          stopping: stopping.signal,
        }),
      );
    }
    const summary = sumOf(summaries);
    report(summary);
    return stopping.signal.aborted ? 130 : isGood(summary) ? 0 : 1;
  } finally {
    await servers.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Checked once, and before: each part would check again what the parts share, and the thread that a
 * test starts its program while the test waits for it.
 */
async function hasRightTypes(args: readonly string[]): Promise<boolean> {
  const check = ["test", "--no-run", "--quiet", "--doc", ...args];
  const { success } = await new Deno.Command(Deno.execPath(), { args: check }).spawn().status;
  return success;
}

async function partsOfAll(args: readonly string[]): Promise<Part[]> {
  const own = folders.map(([folder]) => folder);
  const parts: Part[] = [];
  for (const [folder, count, kind] of folders) {
    const others = own.filter((other) => other.startsWith(`${folder}/`));
    const files = await testFilesIn(folder, [...afterOthers, ...others]);
    for (let part = 0; part < Math.min(count, files.length); part++) {
      const some = files.filter((_file, index) => index % count === part);
      const name = count === 1 ? folder : `${folder} ${part + 1}/${count}`;
      parts.push({ ...partOf(name, some, args), waits: kind === "waits" });
    }
  }
  const left = await testFilesIn("tests", [...afterOthers, ...own]);
  // Those of the dashboard are files of another package, with imports of its own.
  const others = [...await testFilesIn("dashboard", []), ...await existing(examples)];
  return [partOf("the rest", left, [...args, ...others]), ...parts];
}

/** A part whose files are run one after the other, each as a program of its own. */
function partInOrder(name: string, args: readonly string[]): Part {
  return { name, args, together: [] };
}

function partOf(name: string, files: readonly string[], args: readonly string[]): Part {
  const isApart = (file: string) => apart.some((folder) => file.startsWith(`${folder}/`));
  return {
    name,
    args: [...args, ...files.filter(isApart)],
    together: files.filter((file) => !isApart(file)),
  };
}

/** The files with tests in a folder, in the order of their names, without those that are ignored. */
async function testFilesIn(folder: string, ignored: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  if ((await existing([folder])).length === 0) return files;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (ignored.includes(path)) continue;
    if (isDirectory) files.push(...await testFilesIn(path, ignored));
    else if (name.endsWith("_test.ts")) files.push(path);
  }
  return files.sort();
}

interface LaneOptions {
  /** How many lanes, unless there are fewer parts. */
  readonly lanes: number;
  /** What the parts share. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly servers: LaneServers;
  readonly stopping: AbortSignal;
}

/** Runs one part after the other on each lane; a lane that is done takes the next of all. */
async function runOnLanes(
  parts: readonly Part[],
  { lanes: most, folder, environment, servers, stopping }: LaneOptions,
): Promise<TestSummary> {
  // A server that is running already is one, and so is the lane then.
  const given = Deno.env.get("TEST_POSTGRES_URL") !== undefined;
  const lanes = given ? 1 : Math.min(most, parts.length);
  const left = [...parts];
  const hasWaiting = lanes > waitingLanes && parts.some(({ waits }) => waits);
  const results: (TestSummary | null)[] = [];

  function next(lane: number): Part | undefined {
    const isForWaiting = hasWaiting && lane >= lanes - waitingLanes;
    const index = isForWaiting ? left.findIndex(({ waits }) => waits) : 0;
    return index === -1 ? undefined : left.splice(index, 1)[0];
  }
  await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
    const env = { ...environment, ...await servers.environment(lane) };
    for (let part = next(lane); part !== undefined; part = next(lane)) {
      if (stopping.aborted) return;
      results.push(await runPart(await withProgram(part, folder), env, stopping));
    }
  }));
  return sumOf(results);
}

/** With a file among the arguments that imports those which are run together. */
async function withProgram(part: Part, folder: string): Promise<Part> {
  if (part.together.length === 0) return part;
  const path = `${folder}/${part.name.replaceAll(/\W+/g, "_")}_test.ts`;
  const imports = part.together.map((file) =>
    `import ${JSON.stringify(pathToFileURL(file).href)};\n`
  );
  await Deno.writeTextFile(path, imports.join(""));
  return { ...part, args: [...part.args, path] };
}

/** Null when the run ended before its summary. */
async function runPart(
  { name, args }: Part,
  env: Record<string, string>,
  stopping: AbortSignal,
): Promise<TestSummary | null> {
  const started = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--doc", ...new Set(["--no-check", ...args])],
    env,
    stdout: "piped",
  }).spawn();
  const kill = () => child.kill("SIGTERM");
  stopping.addEventListener("abort", kill);
  const reader = testOutputReader();
  const label = name === "" ? "" : `${name}: `;
  let unfinished = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (unfinished + text).split("\n");
    unfinished = lines.pop() ?? "";
    for (const line of lines) reader.read(line);
    await writeAll(lines.map((line) => `${label}${line}\n`).join(""));
  }
  if (unfinished !== "") await writeAll(`${label}${unfinished}\n`);
  const { success } = await child.status;
  stopping.removeEventListener("abort", kill);
  const took = (performance.now() - started) / 1000;
  const used = await processes.seconds();
  await writeAll(`${label}took ${took.toFixed(0)} s, ${used.toFixed(0)} s of processor time\n`);
  const summary = reader.summary();
  if (summary === null) {
    await writeAll(`${label}The tests ended before their summary: that counts as one failure.\n`);
  }
  // A leak of the whole run, or a reporter's error, fails it beside the count.
  return summary !== null && !success && summary.failed === 0 ? { ...summary, failed: 1 } : summary;
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    const stat = await Deno.stat(path).catch(() => null);
    if (stat !== null) found.push(path);
  }
  return found;
}

async function writeAll(text: string): Promise<void> {
  let bytes = new TextEncoder().encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(await Deno.stdout.write(bytes));
}

function report(summary: TestSummary): void {
  if (summary.passed + summary.failed === 0) console.log("\nNo test ran.");
  // Again, because they stand far above, where several parts write at the same time.
  for (const line of summary.errors) console.log(line);
  for (const [reason, count] of summary.skipReasons) console.log(`skipped: ${count} × ${reason}`);
  console.log(`${summary.passed} passed, ${summary.failed} failed, ${summary.skipped} skipped`);
}

function isGood(summary: TestSummary): boolean {
  return summary.failed === 0 && summary.passed > 0 && !summary.skipReasons.has(unnamedReason);
}
