import { getCookies, setCookie } from "@std/http/cookie";

/** The token of the browser that has signed up; null without one. */
export function signupCookie({ headers }: Request): string | null {
  return getCookies(headers)[name] ?? null;
}

/**
 * Sets the cookie that recognizes the browser of a signup when the link of its mail is followed. It
 * grants nothing but that, for a day. The empty string removes it.
 */
export function setSignupCookie(headers: Headers, token: string, isSecure: boolean): void {
  const value = token;
  const maxAge = token === "" ? 0 : 86_400;
  setCookie(headers, {
    name,
    value,
    maxAge,
    path: "/",
    httpOnly: true,
    sameSite: "Lax",
    secure: isSecure,
  });
}

const name = "signup";
