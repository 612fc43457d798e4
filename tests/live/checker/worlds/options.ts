import { Chance } from "../chance.ts";

/** What a world is made of. Every part of it is chosen by the seed, unless it is given. */
export interface WorldOptions {
  readonly engine: "sqlite" | "postgres";
  readonly mode: "triggers" | "service";
  /** What decides about the rights to items, and with them to notes. */
  readonly scope: "own" | "relation" | "mixed";
  /** Whether the links of items to tags are a resource with separate rights. */
  readonly links: "served" | "unserved";
  /** Whether clients include related rows. */
  readonly includes: boolean;
  /** Whether clients follow aggregates. */
  readonly aggregates: boolean;
  /** Who writes past the service. */
  readonly writer: "none" | "sql" | "transactions" | "old-sqlite";
  /** Whether the Postgres crashes now and then. */
  readonly crashes: boolean;
  /** How many services there are over the one database. */
  readonly services: 1 | 2;
  /**
   * How many rows are remembered as held by clients, where rights read related rows. With few or
   * none, streams are also parked early, and their history is read from the log.
   */
  readonly memory: "all" | "few" | "none";
  /** Whether a backup is restored now and then, while the services run. */
  readonly restores: boolean;
  /** Whether some writes of the API run at the same time: on Postgres they share a transaction. */
  readonly together: boolean;
  /** Whether the reads of the services wait before they begin, while others write. */
  readonly reads: "prompt" | "late";
}

/** The options that are given. */
export type GivenOptions = { readonly [K in keyof WorldOptions]?: WorldOptions[K] | undefined };

/** What this machine has. */
export interface Machine {
  /** Whether there is a program with another SQLite. */
  readonly hasOldSqlite: boolean;
}

/** The options of a seed. */
export function optionsOf(seed: number, machine: Machine, given: GivenOptions = {}): WorldOptions {
  const chance = new Chance(seed * 31 + 7);
  const engine = given.engine ?? chance.pick(["sqlite", "sqlite", "postgres"] as const);
  const mode = given.mode ?? (chance.once(5) ? "service" : "triggers");
  const isCrashing = chance.once(4);
  const crashes = given.crashes ?? (engine === "postgres" && mode === "triggers" && isCrashing);
  const writer = given.writer ?? writerOf({ engine, mode }, machine, chance);
  // Only the time distinguishes writes of others from those that a second service records.
  const services = given.services ?? (mode === "service" && writer !== "none" ? 1 : 2);
  const drawn = {
    engine,
    mode,
    scope: given.scope ?? chance.pick(["own", "relation", "relation", "mixed"] as const),
    links: given.links ?? chance.pick(["served", "unserved"] as const),
    includes: given.includes ?? chance.once(2),
    aggregates: given.aggregates ?? chance.once(2),
    writer,
    crashes,
    services,
  };
  const memory = given.memory ?? chance.pick(["all", "few", "none"] as const);
  const restores = given.restores ?? (mode === "triggers" && chance.once(4));
  // An aggregate of a moment between them is of no moment that the checker knows.
  const mayBeTogether = engine === "postgres" && !drawn.aggregates;
  const together = given.together ?? (mayBeTogether && !chance.once(3));
  const reads = given.reads ?? (chance.once(4) ? "late" : "prompt");
  return { ...drawn, memory, restores, together, reads };
}

function writerOf(
  { engine, mode }: Pick<WorldOptions, "engine" | "mode">,
  { hasOldSqlite }: Machine,
  chance: Chance,
): WorldOptions["writer"] {
  // SQLite alone reports writes of others there, and not what was written.
  if (mode === "service" && engine === "postgres") return "none";
  const isAlone = mode === "service" && chance.once(2);
  if (isAlone) return "none";
  if (engine === "postgres") return chance.pick(["sql", "transactions", "transactions"] as const);
  return chance.pick(hasOldSqlite ? ["sql", "old-sqlite"] as const : ["sql"] as const);
}

/** One line of it, as a person would give it. */
export function printOptions(options: WorldOptions): string {
  return Object.entries(options).map(([name, value]) => `${name}=${value}`).join(" ");
}

/** Reads such a line. Throws an Error for what is no option. */
export function parseOptions(words: readonly string[]): GivenOptions {
  const given: Record<string, string | boolean | number> = {};
  for (const word of words) {
    const [name = "", value = ""] = word.split("=");
    if (!knownValues[name]?.includes(value)) throw new Error(`There is no option ${word}`);
    given[name] = /^(true|false|\d)$/.test(value) ? JSON.parse(value) : value;
  }
  // Names and values are those of the table below.
  return given as GivenOptions;
}

const knownValues: Readonly<Record<string, readonly string[]>> = {
  engine: ["sqlite", "postgres"],
  mode: ["triggers", "service"],
  scope: ["own", "relation", "mixed"],
  links: ["served", "unserved"],
  includes: ["true", "false"],
  aggregates: ["true", "false"],
  writer: ["none", "sql", "transactions", "old-sqlite"],
  crashes: ["true", "false"],
  services: ["1", "2"],
  memory: ["all", "few", "none"],
  restores: ["true", "false"],
  together: ["true", "false"],
  reads: ["prompt", "late"],
};
