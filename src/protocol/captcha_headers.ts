import { powHeaders } from "./pow_protocol.ts";

/** The header names of the CAPTCHA protocol, in lower case as in responses. */
export const captchaHeaders = {
  challengeType: powHeaders.challengeType,
  provider: "service-captcha-provider",
  siteKey: "service-captcha-sitekey",
  action: "service-captcha-action",
  /** The header in which clients send the token. The service can use another header instead. */
  token: "service-captcha-token",
} as const;
