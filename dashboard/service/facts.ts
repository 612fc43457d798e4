import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ServiceReport } from "../../src/service/dashboard/reports/service_report.ts";
import type { ResourceDescription as Described } from "../../src/service/dashboard/operator_resources.ts";
import { decodePart } from "./names.ts";

/** A resource as the service describes it, with its name for people and its place in the page. */
export type ResourceDescription = Described & {
  /** The decoded path of the resource. */
  readonly title: string;
  /** The path of the resource's list in the dashboard, such as `data/notes`. */
  readonly place: string;
};

/** The facts that the service reports about itself. */
export type ServiceFacts = Omit<ServiceReport, "resources"> & {
  readonly resources: readonly ResourceDescription[];
};

/** Adds the titles and places of the resources to a report. */
export function readFacts(report: ServiceReport): ServiceFacts {
  const resources = report.resources.map((one) => ({
    ...one,
    title: decodePart(one.path) ?? one.path,
    // The place of a list has two segments, because the third one is the key of a row.
    place: `data/${one.path.replaceAll("/", "%2F")}`,
  }));
  return { ...report, resources };
}

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

/** Returns the resource with a name, or null. */
export function resourceNamed(facts: ServiceFacts, name: string): ResourceDescription | null {
  return facts.resources.find((one) => one.name === name) ?? null;
}

/** Returns the resource of a segment in the dashboard's URL, or null. */
export function resourceAt(facts: ServiceFacts, segment: string): ResourceDescription | null {
  const name = decodePart(segment);
  return facts.resources.find(({ place }) => place === `data/${segment}`) ??
    facts.resources.find(({ title }) => title === name) ?? resourceNamed(facts, name ?? "");
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
