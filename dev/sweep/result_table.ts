import type { Swept } from "./sweep_database.ts";

const heads = [
  ...["database", "engine", "tables, views", "rows read", "requests", "rows written", "copies"],
  ...["streams", "differences", "seconds"],
];

/** Returns the results of all databases as a table in Markdown. */
export function resultTable(results: readonly Swept[]): string {
  const rule = heads.map(() => "---");
  return [heads, rule, ...results.map(cellsOf)].map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

/** Returns the result of one database as a line. */
export function resultRow(swept: Swept): string {
  return cellsOf(swept).map((cell, index) => `${heads[index]} ${cell}`).join(", ");
}

function cellsOf(swept: Swept): readonly string[] {
  return [
    ...[swept.name, swept.engine, String(swept.resources), String(swept.rows)],
    ...[String(swept.requests), String(swept.written), String(swept.copies)],
    ...[`${swept.streamed} of ${swept.withStreams}`, String(swept.differences.length)],
    String(swept.seconds),
  ];
}
