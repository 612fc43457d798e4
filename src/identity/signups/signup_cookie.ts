import { getCookies, setCookie } from "@std/http/cookie";

/** Returns the token of the browser that has signed up, or null without the cookie. */
export function readSignupCookie({ headers }: Request, isSecure: boolean): string | null {
  return getCookies(headers)[nameOf(isSecure)] ?? null;
}

/**
 * Sets the cookie that identifies the browser of a signup when the user follows the link in the
 * mail. The cookie is valid for a day and has no other use. An empty `token` removes the cookie.
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

/** Returns the cookie's name. Its prefix prevents other hosts of the site from setting it. */
function nameOf(isSecure: boolean): string {
  return isSecure ? "__Host-signup" : "signup";
}
