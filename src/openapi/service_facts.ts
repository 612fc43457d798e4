import type { RouteDescription } from "../protocol/route_description.ts";
import type { DescribedService } from "./service_schema.ts";

/** The general information about the service in the document. */
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

/** An address of the service. */
export interface DocumentServer {
  /** A URL, or a path on the server of the document. */
  readonly url: string;
  /** Description for people. */
  readonly description?: string | undefined;
}

/** A route outside of resources, with its description. */
export interface DescribedRoute {
  readonly method: string;
  /** Path as in Hono: `/api/auth/login`. */
  readonly path: string;
  readonly description: RouteDescription;
}

/** The facts in a document, in addition to the resources. */
export interface ServiceFacts extends DescribedService {
  readonly info: DocumentInfo;
  /** Null for the path at which the app is mounted. */
  readonly servers: readonly DocumentServer[] | null;
  readonly hasAuthentication: boolean;
  /** The schemes by name; a request that needs a user needs one of them. */
  readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly isIdempotent: boolean;
  /** True if an exhausted budget requests proof of work. */
  readonly challengesByWork: boolean;
  /** The header for the token of a CAPTCHA. */
  readonly captchaHeader: string;
  /** Returns the current routes outside of resources. */
  routes(): readonly DescribedRoute[];
  /** Returns the current number of routes of the app, including routes without a description. */
  routeCount(): number;
}
