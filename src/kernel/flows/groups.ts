import type { Group } from "../records/execution.ts";
import type { EdgeCondition, EdgeEnd, EdgeState } from "../records/links.ts";

/** How many edges must be satisfied. */
export function neededBy({ policy, quorum, edges }: Group): number {
	switch (policy) {
		case "all_of":
			return edges;
		case "any_of":
			return 1;
		case "quorum":
			return quorum ?? 1;
	}
}

/** Only all_of is satisfied by no edges. */
export const isSatisfied = (group: Group): boolean => group.satisfied >= neededBy(group);

/** Whether it can never be satisfied, if no edge is added. */
export const isImpossible = (group: Group): boolean => group.edges - group.impossible < neededBy(group);

/** Whether it wants more edges than it has. */
export const isUnreachable = (group: Group): boolean => group.edges < neededBy(group);

/** What an end makes of an edge. What was skipped, or cancelled since nobody needed it any more, satisfies none. */
export function edgeStateAfter(on: EdgeCondition, { outcome, isSpared }: EdgeEnd): EdgeState {
	if (outcome === "skipped" || isSpared) return "impossible";
	if (on === "completion") return "satisfied";
	return (outcome === "success") === (on === "success") ? "satisfied" : "impossible";
}
