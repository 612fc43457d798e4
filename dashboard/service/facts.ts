import { createContext } from "preact";
import { useContext } from "preact/hooks";

/** What the service reports about itself. */
export interface ServiceFacts {
  readonly name: string;
  readonly version: string;
  readonly isReadOnly: boolean;
  readonly environment: string;
  /** Which parts the service has, by name. */
  readonly features: Readonly<Record<string, boolean>>;
  /** The path of the resources for its callers, `/api`. */
  readonly basePath: string;
  readonly resources: readonly ResourceFacts[];
  /** The configuration, its secrets masked. */
  readonly configuration: unknown;
}

/** A resource of the service. */
export interface ResourceFacts {
  readonly name: string;
  /** Below the path of the resources. */
  readonly path: string;
  readonly url: string;
  /** The fields of the key, in its order. */
  readonly key: readonly string[];
  /** The field that shows a row best. */
  readonly label: string;
  readonly fields: readonly FieldFacts[];
  readonly relations?: readonly RelationFacts[];
  readonly rights?: Readonly<Record<string, unknown>>;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly etag: boolean;
  /** The field that marks rows deleted; null where they are deleted. */
  readonly softDelete: string | null;
  readonly searchable: boolean;
  readonly live: boolean;
}

/** A field of a resource. */
export interface FieldFacts {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  /** No answer has it. */
  readonly hidden: boolean;
  readonly enum?: readonly string[] | null;
  /** What it is the key of. */
  readonly references?: { readonly resource: string; readonly field: string } | null;
}

/** A relation of a resource. */
export interface RelationFacts {
  readonly name: string;
  readonly type: string;
  readonly resource: string;
}

/** Where components find what the service reports about itself. */
export const FactsContext = createContext<ServiceFacts | null>(null);

/** What the service reports about itself. */
export function useFacts(): ServiceFacts {
  const facts = useContext(FactsContext);
  if (facts === null) throw new Error("The facts of the service are not read yet");
  return facts;
}

/** A resource by its path or its name; null for one that the service does not have. */
export function resourceNamed(facts: ServiceFacts, name: string): ResourceFacts | null {
  return facts.resources.find((one) => one.path === name) ??
    facts.resources.find((one) => one.name === name) ?? null;
}

/** The fields that the dashboard may show. */
export function shownFields({ fields }: ResourceFacts): readonly FieldFacts[] {
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
