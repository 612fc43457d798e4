import { Misuse, readCommandWords } from "../command_options.ts";
import { additionOptions, readAdditions, readSchemaOption } from "../database/additions.ts";

/** The arguments of the command `mcp`: it serves a database to the program that started it. */
export type McpCommand = ReturnType<typeof parseMcpArguments>;

export const mcpHelp = `MCP over the standard streams, for the configuration of a client:
  mcp DATABASE [--write] [--schema NAMES]   tools over every table, read-only unless --write`;

/** Parses the arguments of the command `mcp`. Throws a {@link Misuse}. */
export function parseMcpArguments(args: readonly string[]) {
  const words = readCommandWords("mcp", args, {
    write: { type: "boolean" },
    schema: { type: "string" },
    ...additionOptions,
  });
  const [database, extra] = words.positionals;
  if (database === undefined) throw new Misuse("mcp needs a database: a SQLite file or a URL");
  if (extra !== undefined) throw new Misuse(`mcp takes one database: "${extra}" is one too many`);
  return {
    ...{
      kind: "mcp" as const,
      database,
      write: words.flag("write"),
      schemas: readSchemaOption(words),
    },
    ...readAdditions(words, database),
  };
}
