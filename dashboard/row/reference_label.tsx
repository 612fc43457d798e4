import { useEffect, useState } from "preact/hooks";
import { resourceNamed, useFacts } from "../service/facts.ts";
import { useRows } from "../service/use_rows.ts";
import { formatValue, shownCharacters } from "../parts/format.ts";
import { equals } from "../data/column_filters.ts";
import { quoteName } from "../../src/filter/syntax/quoted_name.ts";
import { valueIn } from "../service/resources.ts";
import { linkOf, type Reference } from "../data/reference_cell.tsx";

/** The label of the row that a value names, as a link to it. */
export function ReferenceLabel({ reference, value }: {
  readonly reference: Reference;
  readonly value: string;
}) {
  const facts = useFacts();
  const { rows } = useRows();
  const [label, setLabel] = useState<string | null>(null);
  const target = resourceNamed(facts, reference.resource);
  useEffect(() => {
    setLabel(null);
    if (target === null || value.trim() === "") return;
    const ended = new AbortController();
    const options = {
      filter: equals(reference.field, value),
      select: [quoteName(target.label)],
      ...{ limit: 1, preview: shownCharacters, signal: ended.signal },
    };
    const timer = setTimeout(() => {
      rows.of(target).list(options).then(
        ({ items: [row] }) =>
          setLabel(row ? formatValue(valueIn(row, target.label)) : "no such row"),
        // A value that is only half written is none of its kind.
        () => setLabel(null),
      );
    }, 200);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [rows, value]);
  if (target === null || label === null) return null;
  return <a class="label" href={linkOf(target, reference, value)}>{label}</a>;
}
