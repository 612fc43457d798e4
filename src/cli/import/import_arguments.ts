import {
  type CommandWords,
  configOption,
  Misuse,
  optionsOf,
  readCommandWords,
} from "../command_options.ts";
import { additionOptions, readAdditions, readSchemaOption } from "../database/additions.ts";
import { Problem } from "../../problem/problem.ts";
import type { ImportFileOptions } from "../../api/imports.ts";
import { checkImportOptions, importTexts } from "../../resource/import/import_options.ts";

export type ImportCommand = ReturnType<typeof parseImportArguments>;

export const importHelp =
  `Importing rows of a file, NDJSON or CSV with a line of names; - is the standard input:
  import FILE --into TABLE [--db DATABASE | --config FILE] [--format csv|ndjson]
                         all rows or none, with progress and errors by line, as the
                         system: into a table of DATABASE, or of service.config.ts
      --chunk N          N rows in each transaction; refused chunks are named
      --dry-run          do everything, and roll it back
      --json             print the result as JSON, also if lines are refused
      --schema NAMES     the schemas of a Postgres
      --delimiter C      the separator of a CSV: , ; | : or tab
      --null TEXT        the field without quotes that means NULL, besides an empty one
      --encoding NAME    the encoding, such as windows-1252 or utf-16le
      --map OLD=NEW      the field NEW has the name OLD in the file; repeatable
      --ignore-extra     ignore names of the file that are no fields
      --timestamps UNIT  numbers of a CSV in columns of time are ms, s or excel days`;

export function parseImportArguments(args: readonly string[]) {
  const words = readCommandWords("import", args, {
    ...optionsOf("string", "into", "db", "format", "schema", "chunk"),
    ...optionsOf("string", "delimiter", "encoding", "timestamps"),
    ...optionsOf("boolean", "dry-run", "ignore-extra", "json"),
    config: configOption,
    null: { type: "string", mayBeEmpty: true },
    map: { type: "string", multiple: true },
    ...additionOptions,
  });
  const [file, extra] = words.positionals;
  if (file === undefined || extra !== undefined) {
    throw new Misuse("import takes one file, or - for the standard input");
  }
  const into = words.text("into");
  if (into === null) throw new Misuse("import needs --into TABLE");
  const [database, config] = [words.text("db"), words.text("config")];
  if (database !== null && config !== null) {
    throw new Misuse("import takes --db or --config, not both: a configuration names its database");
  }
  const format = formatOf(words.text("format"), file);
  const chunk = chunkOf(words.text("chunk"));
  const dryRun = words.flag("dry-run");
  if (dryRun && chunk !== null) throw new Misuse("import takes --dry-run or --chunk, not both");
  const reading = readingOf(words, format);
  return {
    ...{ kind: "import" as const, file, format, into, chunk, dryRun, reading },
    ...{ database, config, schemas: readSchemaOption(words), json: words.flag("json") },
    ...readAdditions(words, database),
  };
}

type ReadingWord = "delimiter" | "null" | "encoding" | "map" | "ignore-extra" | "timestamps";

function readingOf(words: CommandWords<ReadingWord>, format: "csv" | "ndjson"): ImportFileOptions {
  const reading: ImportFileOptions = {
    ...importTexts((name) => words.text(name) ?? undefined),
    map: words.strings("map").join(",") || undefined,
    ignoreExtra: words.flag("ignore-extra"),
  };
  try {
    checkImportOptions({ ...reading, format });
    return reading;
  } catch (error) {
    throw error instanceof Problem ? new Misuse(error.message) : error;
  }
}

function formatOf(given: string | null, file: string): "csv" | "ndjson" {
  if (given === "csv" || given === null && /\.csv$/i.test(file)) return "csv";
  if (given === "ndjson" || given === null && /\.(?:ndjson|jsonl)$/i.test(file)) return "ndjson";
  throw new Misuse(`The format must be csv or ndjson: say --format, as ${file} does not say it`);
}

function chunkOf(given: string | null): number | null {
  if (given === null) return null;
  const chunk = /^\d{1,5}$/.test(given) ? Number(given) : 0;
  if (chunk >= 1 && chunk <= maxChunk) return chunk;
  throw new Misuse(`The chunk must be a whole number from 1 to ${maxChunk}, not "${given}"`);
}

const maxChunk = 10_000;
