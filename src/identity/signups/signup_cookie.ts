import { setCookie } from "@std/http/cookie";
import { cookieIn } from "../sessions/session_cookie.ts";

export function readSignupCookie({ headers }: Request, isSecure: boolean): string | null {
  return cookieIn(headers.get("cookie") ?? "", nameOf(isSecure));
}

export function setSignupCookie(headers: Headers, token: string, isSecure: boolean): void {
  const cookie = { name: nameOf(isSecure), value: token, maxAge: token === "" ? 0 : 86_400 };
  const scope = { path: "/", httpOnly: true, sameSite: "Lax", secure: isSecure } as const;
  setCookie(headers, { ...cookie, ...scope });
}

function nameOf(isSecure: boolean): string {
  return isSecure ? "__Host-signup" : "signup";
}
