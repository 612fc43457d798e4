import type { RouteDescription } from "../protocol/route_description.ts";
import type { DescribedService } from "./service_schema.ts";

/** What the document says about the service as a whole. */
export interface DocumentInfo {
  /** The name of the service. */
  readonly title: string;
  /** The version of the service. */
  readonly version: string;
  /** A string without line breaks. */
  readonly description?: string | undefined;
  /** The license of the API. */
  readonly license?: { readonly name: string; readonly url?: string | undefined } | undefined;
}

/** A place where the service is reached. */
export interface DocumentServer {
  /** A URL, or a path on the server of the document. */
  readonly url: string;
  /** For people. */
  readonly description?: string | undefined;
}

/** A route beside those of resources, with its description. */
export interface DescribedRoute {
  readonly method: string;
  /** As a Hono path: `/api/auth/login`. */
  readonly path: string;
  readonly description: RouteDescription;
}

/** What a document is made from, beside the resources. */
export interface ServiceFacts extends DescribedService {
  readonly info: DocumentInfo;
  /** Null for the place where the app is mounted. */
  readonly servers: readonly DocumentServer[] | null;
  readonly hasAuthentication: boolean;
  /** By name; a request needs one of them where it needs a user. */
  readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly isIdempotent: boolean;
  /** True if a budget that is exhausted asks for proof of work. */
  readonly challengesByWork: boolean;
  /** The header that carries the token of a CAPTCHA. */
  readonly captchaHeader: string;
  /** The routes beside those of resources, as they are mounted now. */
  routes(): readonly DescribedRoute[];
  /** How many routes the app has by now, those without a description too. */
  routeCount(): number;
}
