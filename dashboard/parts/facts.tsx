import { formatTime, formatValue } from "./format.ts";

/** The members of an object as pairs of a name and a value. */
export function Facts({ record }: { readonly record: unknown }) {
  const entries = Object.entries(Object(record));
  if (entries.length === 0) return null;
  return (
    <dl class="facts">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{shown(name, value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function shown(name: string, value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (/At$|^(at|since)$/.test(name)) return formatTime(value);
  return typeof value === "number" ? value.toLocaleString("en") : formatValue(value);
}
