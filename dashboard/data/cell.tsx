import { formatValue } from "../parts/format.ts";

/** A value of a row as text. */
export function CellValue({ value, isCut = false }: {
  readonly value: unknown;
  /** Whether the service has sent the beginning alone. */
  readonly isCut?: boolean;
}) {
  if (value === null) return <span class="null">NULL</span>;
  if (value === undefined) return <span class="null">–</span>;
  if (value === "") return <span class="null">empty</span>;
  const text = formatValue(value);
  if (/^\s+$/.test(text)) return <span class="null">white space</span>;
  return isCut && !text.endsWith("…") ? <span>{text}…</span> : <span>{text}</span>;
}
