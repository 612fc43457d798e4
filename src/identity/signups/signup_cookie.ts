import { getCookies, setCookie } from "@std/http/cookie";

/** The token of the browser that has signed up; null without one. */
export function signupCookie({ headers }: Request, isSecure: boolean): string | null {
  return getCookies(headers)[nameOf(isSecure)] ?? null;
}

/**
 * Sets the cookie that recognizes the browser of a signup when the link of its mail is followed. It
 * grants nothing but that, for a day. The empty string removes it.
 */
export function setSignupCookie(headers: Headers, token: string, isSecure: boolean): void {
  const value = token;
  const maxAge = token === "" ? 0 : 86_400;
  setCookie(headers, {
    name: nameOf(isSecure),
    value,
    maxAge,
    path: "/",
    httpOnly: true,
    sameSite: "Lax",
    secure: isSecure,
  });
}

/** With the prefix no other host of the site can plant the cookie of a stranger's signup. */
function nameOf(isSecure: boolean): string {
  return isSecure ? "__Host-signup" : "signup";
}
