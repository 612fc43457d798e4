import { useContext } from "preact/hooks";
import { createContext } from "preact";
import { type FieldFacts, resourceNamed, useFacts } from "../service/facts.ts";
import { keyText } from "../service/resources.ts";
import { href } from "../shell/route.ts";
import { equals } from "./column_filters.ts";
import { useKnownLabels } from "./use_labels.ts";
import { CellValue } from "./cell.tsx";

/** What a value is the key of. */
export type Reference = NonNullable<FieldFacts["references"]>;

/** A row of another resource that is to be shown beside the value that names it. */
export interface Peeked {
  readonly reference: Reference;
  readonly value: unknown;
  /** Where the value is. */
  readonly at: HTMLElement;
}

/** Shows the row that a value names. */
export const PeekContext = createContext<(peeked: Peeked) => void>(() => {});

/** A value that names a row of another resource: a link to it, and a look at it. */
export function ReferenceCell({ reference, value }: {
  readonly reference: Reference;
  readonly value: unknown;
}) {
  const facts = useFacts();
  const peek = useContext(PeekContext);
  const label = useKnownLabels()?.labelOf(reference, value) ?? null;
  const target = resourceNamed(facts, reference.resource);
  if (target === null) return <CellValue value={value} />;
  return (
    <span class="reference">
      <a tabIndex={-1} href={linkOf(target, reference, value)}>
        <CellValue value={label ?? value} />
      </a>
      {label !== null && <span class="quiet">{String(value)}</span>}
      <button
        type="button"
        tabIndex={-1}
        aria-label={`Look at ${target.title} ${value}`}
        onClick={({ currentTarget }) => peek({ reference, value, at: currentTarget })}
      >
        ⌄
      </button>
    </span>
  );
}

/** The link to the row that a value names; to a list, where the value is not its key. */
export function linkOf(
  { place, key }: { readonly place: string; readonly key: readonly string[] },
  { field }: Reference,
  value: unknown,
): string {
  return key.length === 1 && key[0] === field
    ? href(`${place}/${keyText([String(value)])}`)
    : href(place, { filter: equals(field, value) });
}
