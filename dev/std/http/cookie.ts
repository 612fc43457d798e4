/** Stand-in for `jsr:@std/http/cookie`: a build of the same sources. */
import * as real from "deno-std/http/cookie.js";

/** A cookie to set. */
export interface Cookie {
  name: string;
  value: string;
  maxAge?: number;
  path?: string;
  secure?: boolean;
  httpOnly?: boolean;
  sameSite?: "Strict" | "Lax" | "None";
}

/** Returns the cookies of a request. */
export const getCookies: (headers: Headers) => Partial<Record<string, string>> = real.getCookies;
/** Adds a cookie to the headers of a response. */
export const setCookie: (headers: Headers, cookie: Cookie) => void = real.setCookie;
