import { Misuse, readCommandWords } from "../command_options.ts";

/** The arguments of the command `uninstall`. */
export interface UninstallCommand {
  readonly kind: "uninstall";
  /** The file or URL of a database. */
  readonly database: string;
}

export const uninstallHelp = `Leaving a database as it was:
  uninstall DATABASE     take away the tables, triggers and functions that --write, --triggers and
                         --search have added`;

/** Parses the arguments of the command `uninstall`. Throws a {@link Misuse}. */
export function parseUninstallArguments(args: readonly string[]): UninstallCommand {
  const [database, extra] = readCommandWords("uninstall", args, {}).positionals;
  if (database !== undefined && extra === undefined) return { kind: "uninstall", database };
  throw new Misuse("uninstall takes one database: name its file or URL");
}
