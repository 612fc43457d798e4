/**
 * Checks live streams for as long as it takes:
 * `deno task check-live [events] [seed] [only=schedules|worlds] [overlook=rule,rule] [option=value]`.
 * README.md says what the words mean. Each part takes so many events; a finding is reported
 * with all that is needed to reproduce it.
 */
import { checkStreams, explain } from "./schedules/check_streams.ts";
import { rules } from "./worlds/findings.ts";
import { parseOptions } from "./worlds/options.ts";
import { missingServer, runWorlds } from "./worlds/run_worlds.ts";

const [events = "1000000", seed = "1", ...words] = Deno.args;
const options = { seed: Number(seed), events: Number(events), maxMs: Infinity };
const only = valueOf("only");
const given = parseOptions(words.filter((word) => !/^(only|overlook)=/.test(word)));
const overlooked = new Set(rules.filter((rule) => valueOf("overlook")?.split(",").includes(rule)));

if (only !== "worlds") await checkSchedules();
if (only !== "schedules") {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => stopping.abort());
  }
  for (const engine of ["sqlite", "postgres"] as const) {
    if (given.engine === undefined || given.engine === engine) {
      await checkWorlds(engine, stopping.signal);
    }
  }
}
// What listens for signals would keep the process.
Deno.exit();

async function checkSchedules(): Promise<void> {
  const report = (checked: number) => console.log(`${checked} events of schedules checked`);
  const { failure, events, comparisons, elapsedMs } = await checkStreams({ ...options, report });
  if (failure !== null) {
    const at = Number(/^seed (\d+)/.exec(failure)?.[1]);
    end(`${failure}\n${await explain(at, options)}`);
  }
  console.log(
    `schedules: ${events} events and ${comparisons} clients at rest, ${
      seconds(elapsedMs)
    }, none wrong`,
  );
}

async function checkWorlds(engine: "sqlite" | "postgres", stopping: AbortSignal): Promise<void> {
  if (engine === "postgres" && missingServer !== null) {
    return console.log(`worlds of ${engine} are skipped: ${missingServer}`);
  }
  const outcome = await runWorlds({
    ...options,
    given: { ...given, engine },
    overlooked,
    stopping,
    report: (line) => console.log(line),
  });
  const { failure, worlds, events, commits, comparisons, crashes, restores, elapsedMs } = outcome;
  if (failure !== null) end(failure);
  if (stopping.aborted) end(`stopped after ${events} events`);
  console.log(
    `worlds of ${engine}: ${events} events of ${commits} commits in ${worlds} worlds, ` +
      `${crashes} crashes, ${restores} restores, ${comparisons} clients at rest, ${
        seconds(elapsedMs)
      }, none wrong`,
  );
}

function valueOf(name: string): string | undefined {
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}

function end(failure: string): never {
  console.log(failure);
  Deno.exit(1);
}
