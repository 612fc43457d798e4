import { parseArgs } from "node:util";
import { nearestName } from "../problem/nearest_name.ts";

/** Thrown for invalid arguments. The message is one sentence for the user. */
export class Misuse extends Error {}

export type CommandOptions = Readonly<
  Record<
    string,
    {
      readonly type: "string" | "boolean";
      readonly short?: string;
      readonly multiple?: boolean;
      readonly mayBeEmpty?: boolean;
    }
  >
>;

export interface CommandWords<Name extends string> {
  readonly positionals: readonly string[];
  text(name: Name): string | null;
  flag(name: Name): boolean;
  strings(name: Name): readonly string[];
}

/** Parses the arguments of a command. `command` is null if the arguments start the service. */
export function readCommandWords<Options extends CommandOptions>(
  command: string | null,
  args: readonly string[],
  options: Options,
): CommandWords<keyof Options & string> {
  const { words, tokens } = split(args, options);
  requireFit(command, tokens, options);
  return words;
}

/** Parses `VERB …`. An option that `verbs` lists is valid only for the verbs that list it. */
export function readVerbWords<Options extends CommandOptions, Verb extends string>(
  command: string,
  args: readonly string[],
  options: Options,
  verbs: Readonly<Record<Verb, readonly (keyof Options & string)[]>>,
) {
  const { words: { positionals: [given = "", ...positionals], ...words }, tokens } = split(
    args,
    options,
  );
  if (!isVerb(given)) {
    const found = given === "" ? "" : `, not "${given}"`;
    throw new Misuse(`${command} takes ${Object.keys(verbs).join(", ")}${found}`);
  }
  const own: readonly string[] = verbs[given];
  const limited: readonly string[] = Object.values<readonly string[]>(verbs).flat();
  const allowed = Object.entries(options).filter(([name]) =>
    own.includes(name) || !limited.includes(name)
  );
  requireFit(`${command} ${given}`, tokens, Object.fromEntries(allowed));
  return { verb: given, words: { ...words, positionals } };

  function isVerb(name: string): name is Verb {
    return Object.hasOwn(verbs, name);
  }
}

function split(args: readonly string[], options: CommandOptions) {
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    // In strict mode, the parser throws its own errors, which suggest no similar option.
    strict: false,
    tokens: true,
  });
  return {
    words: {
      positionals,
      text(name: string) {
        const value = values[name];
        return typeof value === "string" ? value : null;
      },
      flag: (name: string) => values[name] === true,
      strings: (name: string) => [values[name] ?? []].flat().map(String),
    },
    tokens: tokens.filter((token) => token.kind === "option"),
  };
}

function requireFit(
  command: string | null,
  tokens: ReturnType<typeof split>["tokens"],
  options: CommandOptions,
): void {
  for (const { name, rawName, value, inlineValue } of tokens) {
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined) {
      if (/^-\d/.test(rawName)) {
        throw new Misuse(`${command ?? "The command"} takes no negative number: ${rawName}`);
      }
      const near = nearestName(name, [...Object.keys(options), "help"]);
      const unknown = command === null ? "Unknown option" : `${command} has no option`;
      throw new Misuse(`${unknown} ${rawName}${near === null ? "" : `: did you mean --${near}?`}`);
    }
    if (option.type === "boolean" && value !== undefined) {
      throw new Misuse(`The option ${rawName} takes no value`);
    }
    // For `--config --write`, the parser takes `--write` as the file name, so the value is missing.
    const isNextOption = value?.startsWith("-") === true && inlineValue !== true;
    const isMissing = value === undefined || value === "" && option.mayBeEmpty !== true;
    if (option.type === "string" && (isMissing || isNextOption)) {
      throw new Misuse(`The option ${rawName} needs a value`);
    }
  }
}

export function splitCommaList(value: string | null): readonly string[] {
  return (value ?? "").split(",").map((one) => one.trim()).filter((one) => one !== "");
}

export function optionsOf<Type extends "string" | "boolean", Name extends string>(
  type: Type,
  ...names: readonly Name[]
): Readonly<Record<Name, { readonly type: Type }>> {
  // The cast is safe, because every name becomes a member of the object.
  return Object.fromEntries(names.map((name) => [name, { type }])) as Record<Name, { type: Type }>;
}

export const configOption = { type: "string", short: "c" } as const;

export const storeOptions = { kv: { type: "string" }, config: configOption } as const;

/** The value of a missing option is null. */
export type StoreArguments = ReturnType<typeof readStoreArguments>;

export function readStoreArguments(words: CommandWords<"kv" | "config">) {
  const [kv, config] = [words.text("kv"), words.text("config")];
  if (kv === null || config === null) return { kv, config };
  throw new Misuse("Give --kv or --config, not both: a configuration names its own store");
}

export const defaultStoreFile = "service.kv";
