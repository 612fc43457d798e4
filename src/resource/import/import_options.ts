import type { ImportFileOptions } from "../../api/imports.ts";
import { didYouMean } from "../../problem/nearest_name.ts";
import { invalidParameter, type Problem } from "../../problem/problem.ts";
import { parseDelimiter } from "../http/query_parameters.ts";
import { parseCsv } from "./parse_csv.ts";

export type TimestampUnit = NonNullable<ImportFileOptions["timestamps"]>;

export interface ImportReading extends Omit<ImportFileOptions, "delimiter" | "map"> {
  readonly delimiter: string | null;
  readonly map: ReadonlyMap<string, string>;
}

export function checkImportOptions(
  options: ImportFileOptions & { readonly format: "ndjson" | "csv" },
): ImportReading {
  const { format, delimiter, encoding, map, ignoreExtra = false, timestamps } = options;
  const ofCsv = { delimiter, null: options.null, timestamps };
  const [used] = Object.entries(ofCsv).filter(([, value]) => value !== undefined);
  if (format === "ndjson" && used !== undefined) throw invalid(used[0], "it is only for CSV");
  if (!["ms", "s", "excel", undefined].includes(timestamps)) {
    throw invalid("timestamps", "it must be ms, s or excel");
  }
  try {
    new TextDecoder(encoding);
  } catch {
    const hint = didYouMean(encoding ?? "", ["utf-8", "utf-16le", "utf-16be", "windows-1252"]);
    throw invalid("encoding", `there is no encoding ${JSON.stringify(encoding)}${hint}`);
  }
  return {
    ...{ null: options.null, encoding, ignoreExtra, timestamps },
    delimiter: delimiter === undefined ? null : parseDelimiter(delimiter),
    map: parseMap(map ?? ""),
  };
}

/** Returns the options as strings. {@link checkImportOptions} checks them later. */
export function importTexts(
  textOf: (name: "delimiter" | "null" | "encoding" | "map" | "timestamps") => string | undefined,
): ImportFileOptions {
  const names = ["delimiter", "null", "encoding", "map", "timestamps"] as const;
  // The cast is safe: `checkImportOptions` throws a 400 for an invalid unit.
  return Object.fromEntries(names.map((name) => [name, textOf(name)])) as ImportFileOptions;
}

/** Parses the option `map`, which is one CSV record: `Name=name,"Sum, all=sum"`. */
function parseMap(text: string): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  const options = { line: 1, delimiter: ",", nullText: null, isLast: true };
  const { fault } = parseCsv(text, options, ({ fields }) => {
    for (const pair of fields) {
      const equals = pair?.lastIndexOf("=") ?? -1;
      if (pair === null || equals < 0) throw invalid("map", "it must be old=new,old=new");
      map.set(pair.slice(0, equals), pair.slice(equals + 1));
    }
  });
  if (fault !== null) throw invalid("map", `it ${fault}`);
  return map;
}

export function formatMap(pairs: Iterable<readonly [string, string]>): string {
  return Array.from(pairs, (pair) => {
    const text = pair.join("=");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }).join(",");
}

function invalid(name: string, fault: string): Problem {
  return invalidParameter(`Cannot use "${name}": ${fault}`);
}
