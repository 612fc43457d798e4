import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ServiceReport } from "../../src/service/dashboard/reports/service_report.ts";
import type { ResourceDescription } from "../../src/service/dashboard/operator_resources.ts";

export type { ResourceDescription };

/** What the service reports about itself. */
export type ServiceFacts = ServiceReport;

/** A field of a resource. */
export type FieldFacts = ResourceDescription["fields"][number];

/** Where components find what the service reports about itself. */
export const FactsContext = createContext<ServiceFacts | null>(null);

/** What the service reports about itself. */
export function useFacts(): ServiceFacts {
  const facts = useContext(FactsContext);
  if (facts === null) throw new Error("The facts of the service are not read yet");
  return facts;
}

/** A resource by its path or its name; null for one that the service does not have. */
export function resourceNamed(facts: ServiceFacts, name: string): ResourceDescription | null {
  return facts.resources.find((one) => one.path === name) ??
    facts.resources.find((one) => one.name === name) ?? null;
}

/** The fields that the dashboard may show. */
export function shownFields({ fields }: ResourceDescription): readonly FieldFacts[] {
  return fields.filter(({ hidden, onSelect }) => !hidden && onSelect !== true);
}

/** The fields that a list can have as columns: also those that functions compute. */
export function listableFields({ fields }: ResourceDescription): readonly FieldFacts[] {
  return fields.filter(({ hidden }) => !hidden);
}

/** Whether the operator may filter and sort by a field, and write it: by all that are stored. */
export function isStored({ type }: FieldFacts): boolean {
  return type !== "computed";
}

/** Whether the values of a field are numbers, and stand on the right. */
export function isNumeric({ type }: FieldFacts): boolean {
  return ["integer", "bigint", "real", "decimal"].includes(type);
}
