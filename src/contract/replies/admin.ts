import { type Static, Type } from "../schema.ts";
import { at, count, text, texts } from "./parts.ts";

const optional = Type.Optional;

export const scanner = Type.Object({
	name: text("Its name"),
	runs: count("Passes that had something to do"),
	items: count("Items it handled"),
	errors: count("Items that failed, each time they did"),
	parked: count("Items parked now because they kept failing"),
	lastRunAt: optional(at("When it last had something to do")),
	lastDurationMs: optional(Type.Number({ description: "How long that took, in milliseconds" })),
	lagMs: optional(Type.Number({ description: "How late the last item was handled, in milliseconds" })),
});

/** Something the engine does on its own, and how that goes. */
export interface ScannerView extends Static<typeof scanner> {}

export const rotatedSecret = Type.Object({
	kid: text("The key that signs from now on"),
	previousKid: optional(text("The key it replaced")),
	previousExpiresAt: optional(at("Until when tokens signed by that key are valid")),
});

/** What a rotation came to. */
export interface RotatedSecret extends Static<typeof rotatedSecret> {}

export const scannersReply = Type.Object({
	scanners: Type.Array(scanner, { description: "What the engine does on its own, one by one" }),
	restrictedTo: optional(
		Type.Object(
			{
				namespaces: optional(texts("Only what is of one of these namespaces")),
				tags: optional(texts("Only executions that carry one of these tags, as key:value")),
			},
			{ description: "What the scanners are restricted to; left out when they are not" },
		),
	),
});

/** What the engine does on its own, and what that is restricted to, if it is. */
export interface ScannersReply extends Static<typeof scannersReply> {}
