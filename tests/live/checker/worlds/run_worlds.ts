import { createScratchDatabase } from "../../../support/engines.ts";
import {
  missingPostgres,
  type MortalPostgres,
  startMortalPostgres,
} from "../../../support/mortal_postgres.ts";
import type { Sabotage } from "./cast.ts";
import type { Rule } from "./findings.ts";
import { findOldSqlite } from "./old_sqlite.ts";
import { type GivenOptions, optionsOf, printOptions, type WorldOptions } from "./options.ts";
import { runWorld, type WorldOutcome } from "./world.ts";

/** Which worlds are run, and for how long. */
export interface WorldsOptions {
  readonly seed: number;
  /** Ends once so many events were checked. */
  readonly events: number;
  /** Ends then in any case. */
  readonly maxMs: number;
  /** What every world is, whatever its seed. */
  readonly given?: GivenOptions;
  readonly overlooked?: ReadonlySet<Rule>;
  readonly sabotage?: Sabotage;
  /** Ends it in good order: a server in this process would continue. */
  readonly stopping?: AbortSignal;
  /** Called after each world. */
  report?(line: string): void;
}

/** What came of them. */
export interface WorldsVerdict {
  /** What was wrong, and how to see it again; null where nothing was. */
  readonly failure: string | null;
  readonly rule: Rule | null;
  readonly worlds: number;
  readonly events: number;
  readonly commits: number;
  readonly comparisons: number;
  readonly crashes: number;
  readonly restores: number;
  readonly elapsedMs: number;
}

/** Why worlds of Postgres cannot be run here; null where they can. */
export const missingServer: string | null = missingPostgres;

/** Runs one world after the other, each with another seed. */
export async function runWorlds(options: WorldsOptions): Promise<WorldsVerdict> {
  const startedAt = performance.now();
  const total = { worlds: 0, events: 0, commits: 0, comparisons: 0, crashes: 0, restores: 0 };
  let failure: string | null = null;
  let rule: Rule | null = null;
  const elapsedMs = () => performance.now() - startedAt;
  await using places = await Places.open(options.given?.engine);
  for (let { seed } = options; failure === null && total.events < options.events; seed++) {
    if (elapsedMs() > options.maxMs || options.stopping?.aborted) break;
    const world = optionsOf(seed, places.machine, places.given(options.given));
    const outcome = await places.run(seed, world, options);
    total.worlds++;
    for (const name of ["events", "commits", "comparisons", "crashes", "restores"] as const) {
      total[name] += outcome[name];
    }
    const line = `seed ${seed}: ${printOptions(world)}`;
    options.report?.(`${total.events} events, ${line}`);
    if (outcome.finding === null) continue;
    rule = outcome.finding.rule;
    const last = outcome.log.slice(-linesToldOfFailure).join("\n");
    failure = `${line}\n${last}\n${rule}: ${outcome.finding.text}`;
  }
  return { failure, rule, ...total, elapsedMs: elapsedMs() };
}

const linesToldOfFailure = 120;

/** Where worlds are made. */
class Places implements AsyncDisposable {
  readonly #folder: string;
  readonly #program: Awaited<ReturnType<typeof findOldSqlite>>;
  readonly #server: MortalPostgres | null;

  private constructor(
    folder: string,
    program: Awaited<ReturnType<typeof findOldSqlite>>,
    server: MortalPostgres | null,
  ) {
    this.#folder = folder;
    this.#program = program;
    this.#server = server;
  }

  static async open(engine: WorldOptions["engine"] | undefined): Promise<Places> {
    const needsServer = engine !== "sqlite" && missingPostgres === null;
    // What a rolled-back transaction wrote is not on disk before something else is.
    const settings = { wal_writer_delay: "10000", max_connections: "200" };
    return new Places(
      await makeFolder(),
      await findOldSqlite(),
      needsServer ? await startMortalPostgres(settings) : null,
    );
  }

  get machine(): { readonly hasOldSqlite: boolean } {
    return { hasOldSqlite: !("missing" in this.#program) };
  }

  given(given: GivenOptions = {}): GivenOptions {
    return this.#server === null ? { engine: "sqlite", ...given } : given;
  }

  async run(
    seed: number,
    options: WorldOptions,
    { overlooked = new Set(), sabotage = {}, stopping }: WorldsOptions,
  ): Promise<WorldOutcome> {
    const program = "missing" in this.#program ? null : this.#program;
    const plan = { seed, options, program, overlooked, sabotage, stopping };
    if (options.engine === "sqlite") {
      const path = `${this.#folder}/${seed}-${crypto.randomUUID()}.db`;
      try {
        return await runWorld({ ...plan, url: `sqlite:${path}`, server: null });
      } finally {
        for (const end of ["", "-wal", "-shm"]) await Deno.remove(path + end).catch(() => {});
      }
    }
    if (this.#server === null) throw new Error("There is a server");
    const scratch = await createScratchDatabase(this.#server.url);
    try {
      return await runWorld({ ...plan, url: scratch.url, server: this.#server });
    } finally {
      await scratch.drop();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** In memory where the machine has such a place: no world outlives its process. */
async function makeFolder(): Promise<string> {
  const prefix = "resource-api-worlds-";
  const memory = "/dev/shm";
  const isThere = await Deno.stat(memory).then(() => true, () => false);
  return await Deno.makeTempDir(isThere ? { dir: memory, prefix } : { prefix });
}
