import { type Static, Type } from "../schema.ts";
import { at, count } from "./parts.ts";

const optional = Type.Optional;

export const scanner = Type.Object({
	name: Type.String(),
	runs: Type.Integer({ minimum: 0, description: "Passes that had something to do" }),
	items: Type.Integer({ minimum: 0, description: "Items it handled" }),
	errors: count,
	parked: Type.Integer({ minimum: 0, description: "Items parked now because they kept failing" }),
	lastRunAt: optional(at),
	lastDurationMs: optional(Type.Number()),
	lagMs: optional(Type.Number({ description: "How late the last item was handled" })),
});

/** Something the engine does on its own, and how that goes. */
export interface ScannerView extends Static<typeof scanner> {}

export const rotatedSecret = Type.Object({
	kid: Type.String({ description: "The key that signs from now on" }),
	previousKid: optional(Type.String({ description: "The key it replaced" })),
	previousExpiresAt: optional(Type.Integer({ description: "Until when tokens signed by that key are valid" })),
});

/** What a rotation came to. */
export interface RotatedSecret extends Static<typeof rotatedSecret> {}

export const scannersReply = Type.Object({
	scanners: Type.Array(scanner),
	restrictedTo: optional(
		Type.Object(
			{
				namespaces: optional(Type.Array(Type.String())),
				tags: optional(Type.Array(Type.String({ description: "key:value" }))),
			},
			{ description: "What the scanners are restricted to; left out when they are not" },
		),
	),
});

/** What the engine does on its own, and what that is restricted to, if it is. */
export interface ScannersReply extends Static<typeof scannersReply> {}
