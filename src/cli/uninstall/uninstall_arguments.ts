import { readCommandWords } from "../command_options.ts";

/** The arguments of the command that removes the service's additions to a database. */
export interface UninstallCommand {
  readonly kind: "uninstall";
  /** A file or a URL of a database. */
  readonly database: string;
}

/** The section of `--help` about uninstalling. */
export const uninstallHelp = `Leaving a database as it was:
  uninstall DATABASE     take away the tables, triggers and functions that --write, --triggers and
                         --search have added`;

/** Parses the arguments of the command that uninstalls. Never throws. */
export function parseUninstallArguments(
  [_uninstall, ...args]: readonly string[],
): UninstallCommand | { readonly kind: "misused"; readonly message: string } | {
  readonly kind: "help";
} {
  const words = readCommandWords(args, { help: { type: "boolean", short: "h" } });
  if (words.values.help === true) return { kind: "help" };
  const fault = words.fault("uninstall");
  if (fault !== null) return { kind: "misused", message: fault };
  const [database, extra] = words.positionals;
  if (database !== undefined && extra === undefined) return { kind: "uninstall", database };
  return { kind: "misused", message: "uninstall takes one database: name its file or URL" };
}
