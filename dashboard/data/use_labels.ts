import { createContext } from "preact";
import { useContext, useEffect, useMemo, useState } from "preact/hooks";
import { quoteName } from "../../src/filter/syntax/quoted_name.ts";
import {
  type FieldFacts,
  type ResourceDescription,
  resourceNamed,
  type ServiceFacts,
  useFacts,
} from "../service/facts.ts";
import { type Row, type Rows, valueIn } from "../service/resources.ts";
import { useRows } from "../service/use_rows.ts";
import { shownCharacters } from "../parts/format.ts";
import { exact } from "./column_filters.ts";

type Reference = NonNullable<FieldFacts["references"]>;

/** The number of values in a request: 50 UUIDs fit into the filter of a URL. */
const valuesOfRequest = 50;

/** The labels of the rows that foreign keys name. Each label is read once. */
export class Labels {
  readonly #facts: ServiceFacts;
  readonly #rows: Rows;
  /** The labels by reference and value; null if no row or no label was found. */
  readonly #known = new Map<string, Map<string, unknown>>();

  /** Reads labels with the rights of `rows`. */
  constructor(facts: ServiceFacts, rows: Rows) {
    this.#facts = facts;
    this.#rows = rows;
  }

  /** Returns the label of the row that a value names, or null if there is none yet. */
  labelOf(reference: Reference, value: unknown): unknown {
    return this.#known.get(keyOf(reference))?.get(String(value)) ?? null;
  }

  /** Reads the missing labels of rows. Resolves to true if it has read any. */
  async read(fields: readonly FieldFacts[], rows: readonly Row[]): Promise<boolean> {
    const reads = fields.flatMap(({ name, references }) => {
      if (!references) return [];
      const target = resourceNamed(this.#facts, references.resource);
      // Without a typical label, the key is the label.
      if (target === null || target.label === references.field) return [];
      const known = this.#knownOf(references);
      const values = new Set(
        rows.map((row) => valueIn(row, name)).filter((value) =>
          value !== null && value !== undefined
        )
          .map(String).filter((value) => !known.has(value)),
      );
      return values.size === 0 ? [] : [this.#readOf(references, target, [...values])];
    });
    await Promise.all(reads);
    return reads.length > 0;
  }

  #knownOf(reference: Reference): Map<string, unknown> {
    const known = this.#known.get(keyOf(reference)) ?? new Map<string, unknown>();
    this.#known.set(keyOf(reference), known);
    return known;
  }

  async #readOf(
    reference: Reference,
    target: ResourceDescription,
    values: readonly string[],
  ): Promise<void> {
    const known = this.#knownOf(reference);
    for (const value of values) known.set(value, null);
    for (let from = 0; from < values.length; from += valuesOfRequest) {
      const part = values.slice(from, from + valuesOfRequest);
      const options = {
        filter: `${quoteName(reference.field)}=in=(${part.map(exact)})`,
        select: [...new Set([reference.field, target.label])].map(quoteName),
        ...{ limit: valuesOfRequest, preview: shownCharacters },
      };
      // A list without labels is still useful, for example to a user who cannot read the labels.
      const { items } = await this.#rows.of(target).list(options).catch(() => ({ items: [] }));
      for (const row of items) {
        known.set(String(valueIn(row, reference.field)), valueIn(row, target.label));
      }
    }
  }
}

function keyOf({ resource, field }: Reference): string {
  return JSON.stringify([resource, field]);
}

/** Contains the labels of the rows in view. */
export const LabelsContext = createContext<Labels | null>(null);

/** Returns the labels of the rows in view. */
export function useKnownLabels(): Labels | null {
  return useContext(LabelsContext);
}

/** Reads the labels of the foreign keys in rows, and draws the rows again. */
export function useLabels(fields: readonly FieldFacts[], shown: readonly Row[]): Labels {
  const facts = useFacts();
  const { rows } = useRows();
  const [, redraw] = useState(0);
  const labels = useMemo(() => new Labels(facts, rows), [facts, rows]);
  useEffect(() => {
    // A quick scroll passes many rows.
    const timer = setTimeout(async () => {
      // Other changes may have drawn the rows in the meantime, without these labels.
      if (await labels.read(fields, shown)) redraw((before) => before + 1);
    }, 30);
    return () => clearTimeout(timer);
  });
  return labels;
}
