import type { ExecutionRecord, Group } from "../records/execution.ts";
import type { PublicState } from "../state.ts";
import { isSatisfied, neededBy } from "./groups.ts";

/** What a member of a flow waits for, in words. */

/** An upstream that has not ended. */
export interface Upstream {
	/** The key of its node. */
	key: string;
	publicState: PublicState;
}

/** Whether it is its group that keeps it from running. */
export const waitsForGroup = ({ blockingReason, member }: ExecutionRecord): boolean =>
	blockingReason === "waiting_for_children" && member !== null && !isSatisfied(member.group);

/** `waiting for all of 3 upstreams: 1 satisfied, 2 to come` */
export function describeGroup(group: Group): string {
	const { edges, satisfied, impossible } = group;
	if (edges === 0) return "waiting for an upstream, but it has none yet";
	const wanted = `waiting for ${manyOf(group)} of ${edges} upstream${edges === 1 ? "" : "s"}`;
	const pending = edges - satisfied - impossible;
	const lost = impossible === 0 ? "" : `, ${impossible} can no longer be`;
	return `${wanted}: ${satisfied} satisfied, ${pending} to come${lost}`;
}

const manyOf = (group: Group): string =>
	group.policy === "all_of" ? "all" : group.policy === "any_of" ? "any" : String(neededBy(group));

/** Which upstreams have not ended, the first of them. */
export function describeUpstreams({ edges, satisfied, impossible }: Group, upstreams: readonly Upstream[]): string {
	const more = edges - satisfied - impossible - upstreams.length;
	const named = upstreams.map(({ key, publicState }) => `${key} (${publicState})`).join(", ");
	return `not done yet: ${named}${more > 0 ? ` and ${more} more` : ""}`;
}
