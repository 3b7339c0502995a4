import { KID } from "../kernel/records/keyring.ts";
import { type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** What a secret that signs the tokens of waitpoints may be. */
export const SECRET_HEX = /^(?:[0-9a-fA-F]{2}){32,128}$/;
export const SECRET_ALLOWED = "must be 32 to 128 bytes as hex digits";

export const rotateSecretRequest = shape(
	Type.Object(
		{
			kid: Type.Optional(
				Type.String({
					pattern: KID.source,
					description: "Name of the new key; the next of k1, k2, … when left out",
					allowed: "must be 1 to 32 printable ASCII characters without spaces, dots and colons",
				}),
			),
			secretHex: Type.Optional(
				Type.String({
					pattern: SECRET_HEX.source,
					description: "The new secret, 32 to 128 bytes as hex digits; drawn when left out",
					allowed: SECRET_ALLOWED,
					isSecret: true,
				}),
			),
		},
		{ additionalProperties: false, allowed: "must be {kid?, secretHex?}" },
	),
);

/** Which key is to sign from now on. */
export interface RotateSecretRequest extends Static<typeof rotateSecretRequest.schema> {}

export const backupRequest = shape(
	Type.Object(
		{
			keys: Type.Optional(
				Type.Boolean({
					description: "Also the secrets that sign tokens of waitpoints (false)",
					allowed: "must be true or false",
				}),
			),
		},
		{ additionalProperties: false, allowed: "must be {keys?}" },
	),
);

/** What is to be in a backup beside all the work. */
export interface BackupRequest extends Static<typeof backupRequest.schema> {}
