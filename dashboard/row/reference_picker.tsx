import { useEffect, useState } from "preact/hooks";
import { resourceNamed, useFacts } from "../service/facts.ts";
import { type Row, valueIn } from "../service/resources.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { Problem } from "../parts/problem.tsx";
import { formatValue, shownCharacters } from "../parts/format.ts";
import { quoteName } from "../../src/filter/syntax/quoted_name.ts";
import { quoted } from "../data/column_filters.ts";
import type { Reference } from "../data/reference_cell.tsx";

/** Finds a row of another resource by its label, and gives the value that names it. */
export function ReferencePicker({ reference, name, onPick }: {
  readonly reference: Reference;
  /** The name of the field that is written. */
  readonly name: string;
  readonly onPick: (value: string) => void;
}) {
  const facts = useFacts();
  const { rows } = useRows();
  const [isOpen, setIsOpen] = useState(false);
  const [text, setText] = useState("");
  const [found, setFound] = useState<readonly Row[] | Error | null>(null);
  const target = resourceNamed(facts, reference.resource);
  const label = target?.fields.find((field) => field.name === target.label);
  useEffect(() => {
    if (!isOpen || target === null || label === undefined) return;
    const ended = new AbortController();
    const words = text.trim();
    const operator = label.type === "text" ? "=icontains=" : "==";
    const options = {
      ...{ limit: 20, preview: shownCharacters, signal: ended.signal },
      select: [...new Set([reference.field, label.name])].map(quoteName),
      orderBy: [quoteName(label.name)],
      ...words !== "" && { filter: quoteName(label.name) + operator + quoted(words) },
    };
    const timer = setTimeout(() => {
      rows.of(target).list(options).then(
        ({ items }) => setFound(items),
        (error) => ended.signal.aborted || setFound(toError(error)),
      );
    }, 150);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [isOpen, text]);
  if (target === null || label === undefined) return null;
  const pick = (row: Row) => {
    onPick(String(valueIn(row, reference.field)));
    setIsOpen(false);
  };
  return (
    <div class="picker">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-label={`Find ${target.title} for ${name}`}
        onClick={() => setIsOpen(!isOpen)}
      >
        Find …
      </button>
      {isOpen && (
        <div class="found">
          <input
            type="search"
            aria-label={`Search ${target.title} by ${label.name}`}
            placeholder={`${target.title} by ${label.name}`}
            value={text}
            autocomplete="off"
            ref={(element) => element?.focus()}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") setIsOpen(false);
              if (event.key !== "Enter") return;
              event.preventDefault();
              if (Array.isArray(found) && found[0]) pick(found[0]);
            }}
          />
          {found instanceof Error && <Problem error={found} />}
          {Array.isArray(found) && found.length === 0 && <p class="quiet">Nothing is found.</p>}
          <ul>
            {Array.isArray(found) && found.map((row: Row, index) => (
              <li key={index}>
                <button type="button" onClick={() => pick(row)}>
                  {formatValue(valueIn(row, label.name))}{" "}
                  <span class="quiet">{String(valueIn(row, reference.field))}</span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}
