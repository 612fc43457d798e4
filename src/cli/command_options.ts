import { parseArgs } from "node:util";
import { nearestName } from "../problem/nearest_name.ts";

/** The options that a command accepts, by long name. */
export type CommandOptions = Readonly<
  Record<
    string,
    { readonly type: "string" | "boolean"; readonly short?: string; readonly multiple?: boolean }
  >
>;

/** The arguments of a command, split into options and words. */
export interface CommandWords {
  readonly values: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];
  /** Returns an error message for an option that is invalid or not in `names`, or null. */
  fault(command: string, names?: readonly string[]): string | null;
}

/** Splits the arguments of a command. Never throws. */
export function readCommandWords(args: readonly string[], options: CommandOptions): CommandWords {
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  return {
    values,
    positionals,
    fault(command, names = Object.keys(options)) {
      for (const token of tokens) {
        if (token.kind !== "option") continue;
        const fault = names.includes(token.name)
          ? valueFault(token, options)
          : `${command} has no option ${token.rawName}${hintFor(token.name, names)}`;
        if (fault !== null) return fault;
      }
      return null;
    },
  };
}

/** Returns the value of a string option, or null if the option is missing. */
export function stringOption(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Returns all values of a repeatable option. A comma separates values within one option. */
export function repeatedOption(value: unknown): readonly string[] {
  const given: readonly unknown[] = Array.isArray(value) ? value : [];
  return given.flatMap((one) => typeof one === "string" ? one.split(",") : [])
    .map((one) => one.trim()).filter((one) => one !== "");
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
}

function valueFault({ name, rawName, value }: OptionToken, options: CommandOptions): string | null {
  if (options[name]?.type === "boolean") {
    return value === undefined ? null : `${rawName} takes no value`;
  }
  return value === undefined || value === "" ? `The option ${rawName} needs a value` : null;
}

function hintFor(name: string, names: readonly string[]): string {
  const near = nearestName(name, names);
  return near === null ? "" : `: did you mean --${near}?`;
}
