import { powHeaders } from "./pow_protocol.ts";

/** The headers of the CAPTCHA protocol, in lower case as in replies. */
export const captchaHeaders = {
  challengeType: powHeaders.challengeType,
  provider: "service-captcha-provider",
  siteKey: "service-captcha-sitekey",
  action: "service-captcha-action",
  /** The client sends it. The service can be configured to read another header. */
  token: "service-captcha-token",
} as const;
