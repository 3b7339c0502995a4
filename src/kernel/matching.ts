/** What a worker offers. Capabilities are sorted, each once. */
export interface Offer {
	/** Left out, or null, by a worker that takes every kind. */
	kinds?: readonly string[] | null | undefined;
	capabilities: readonly string[];
}

/** Whether a worker may be given work of this kind: the one answer for claims, grants, queues and the registry. */
export function canServe(
	{ kinds, capabilities }: Offer,
	work: { kind: string; requiredCapabilities: readonly string[] },
): boolean {
	return (!kinds || kinds.includes(work.kind)) && offersAll(capabilities, work.requiredCapabilities);
}

/** Case counts, and whoever needs nothing can be served by anyone. Both are sorted, so one walk tells. */
export function offersAll(offered: readonly string[], required: readonly string[]): boolean {
	let at = 0;
	for (const token of required) {
		while (at < offered.length && (offered[at] as string) < token) at += 1;
		if (offered[at] !== token) return false;
		at += 1;
	}
	return true;
}

/** What no live worker has, for a person. */
export function describeLack(
	required: readonly string[],
	workers: readonly { capabilities: readonly string[] }[],
): string {
	const missing = required.filter((token) => !workers.some(({ capabilities }) => capabilities.includes(token)));
	if (missing.length > 0) return `no live worker offers ${missing.join(", ")}`;
	return `no live worker offers ${required.join(", ")} together`;
}
