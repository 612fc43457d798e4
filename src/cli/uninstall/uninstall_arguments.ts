import { Misuse, readCommandWords } from "../command_options.ts";

export type UninstallCommand = ReturnType<typeof parseUninstallArguments>;

export const uninstallHelp = `Leaving a database as it was:
  uninstall DATABASE     take away the tables, triggers and functions that --write, --triggers and
                         --search have added`;

/** Parses the arguments of the command `uninstall`. Throws a {@link Misuse}. */
export function parseUninstallArguments(args: readonly string[]) {
  const [database, extra] = readCommandWords("uninstall", args, {}).positionals;
  if (database !== undefined && extra === undefined) {
    return { kind: "uninstall" as const, database };
  }
  throw new Misuse("uninstall takes one database: name its file or URL");
}
