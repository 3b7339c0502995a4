import { administrationCases } from "./public-cases/administration.ts";
import { approvalCases } from "./public-cases/approvals.ts";
import { badBudgetCases } from "./public-cases/bad-budgets.ts";
import { badCallCases } from "./public-cases/bad-calls.ts";
import { badCreateCases } from "./public-cases/bad-creates.ts";
import { batchCases } from "./public-cases/batches.ts";
import { budgetAdmissionCases } from "./public-cases/budget-admission.ts";
import { budgetPauseCases } from "./public-cases/budget-pauses.ts";
import { budgetCases } from "./public-cases/budgets.ts";
import { bulkCases } from "./public-cases/bulk.ts";
import { cancelCases } from "./public-cases/cancelling.ts";
import { capabilityCases } from "./public-cases/capabilities.ts";
import { childrenCases, childrenWaitCases, parentEndCases } from "./public-cases/children.ts";
import { claimOrderCases } from "./public-cases/claim-order.ts";
import { claimRequestCases } from "./public-cases/claim-requests.ts";
import { claimWaitingCases } from "./public-cases/claim-waiting.ts";
import { conditionCases } from "./public-cases/conditions.ts";
import { creationCases } from "./public-cases/creation.ts";
import { eventWaitingCases } from "./public-cases/event-waiting.ts";
import { explainCases } from "./public-cases/explaining.ts";
import { failureDetailCases } from "./public-cases/failure-details.ts";
import { fairnessCases, manyTurnCases } from "./public-cases/fairness.ts";
import { feedCases } from "./public-cases/feeds.ts";
import { fenceCases } from "./public-cases/fences.ts";
import { badGraphCases, largestFlowCases } from "./public-cases/flows-bad-graphs.ts";
import { flowBuildingCases } from "./public-cases/flows-building.ts";
import { flowCancelAnswerCases } from "./public-cases/flows-cancel-answers.ts";
import { flowCancelCases } from "./public-cases/flows-cancelling.ts";
import { flowCreationCases } from "./public-cases/flows-creation.ts";
import { flowEdgeCases } from "./public-cases/flows-edges.ts";
import { flowEventCases } from "./public-cases/flows-events.ts";
import { flowGroupCases } from "./public-cases/flows-groups.ts";
import { flowKeyCases } from "./public-cases/flows-keys.ts";
import { flowListingCases } from "./public-cases/flows-listing.ts";
import { flowOwnWaitCases } from "./public-cases/flows-own-waits.ts";
import { flowRemovalCases } from "./public-cases/flows-removal.ts";
import { flowReopeningCases } from "./public-cases/flows-reopening.ts";
import { flowReplayCases } from "./public-cases/flows-replays.ts";
import { flowResultCases } from "./public-cases/flows-results.ts";
import { flowStateCases } from "./public-cases/flows-states.ts";
import { flowTenantCases } from "./public-cases/flows-tenants.ts";
import { followingCases } from "./public-cases/following.ts";
import { grantRequestCases } from "./public-cases/grant-requests.ts";
import { grantCases } from "./public-cases/grants.ts";
import { handBackCases } from "./public-cases/hand-back.ts";
import { handlerChildrenCases } from "./public-cases/handler-children.ts";
import { handlerStepCases } from "./public-cases/handler-steps.ts";
import { handlerStreamCases } from "./public-cases/handler-streams.ts";
import { handlerWaitCases } from "./public-cases/handler-waits.ts";
import { historyCases } from "./public-cases/histories.ts";
import { idempotencyCases } from "./public-cases/idempotency.ts";
import { keptSlotCases } from "./public-cases/kept-slots.ts";
import { keyCases } from "./public-cases/keys.ts";
import { laneStateCases } from "./public-cases/lane-states.ts";
import { laneCases } from "./public-cases/lanes.ts";
import { listFilterCases } from "./public-cases/list-filters.ts";
import { listKeyCases } from "./public-cases/list-keys.ts";
import { listStateCases } from "./public-cases/list-states.ts";
import { listingCases } from "./public-cases/listing.ts";
import { lostWorkCases } from "./public-cases/lost-work.ts";
import { noticeCases } from "./public-cases/notices.ts";
import { operatorCases } from "./public-cases/operators.ts";
import { payloadCases } from "./public-cases/payloads.ts";
import { priorityCases } from "./public-cases/priorities.ts";
import { quotaAdmissionCases } from "./public-cases/quota-admission.ts";
import { quotaCases } from "./public-cases/quotas.ts";
import { renewalCases } from "./public-cases/renewals.ts";
import { reopeningCases } from "./public-cases/reopening.ts";
import { replayedWaitCases } from "./public-cases/replayed-waits.ts";
import { retentionCases } from "./public-cases/retention.ts";
import { retryCases } from "./public-cases/retries.ts";
import { routeCases } from "./public-cases/routes.ts";
import { signalCases } from "./public-cases/signals.ts";
import { situationCases } from "./public-cases/situations.ts";
import { stepCases } from "./public-cases/steps.ts";
import { streamFenceCases } from "./public-cases/stream-fences.ts";
import { streamKeepingCases } from "./public-cases/stream-keeping.ts";
import { streamSummaryCases } from "./public-cases/stream-summaries.ts";
import { streamTailCases } from "./public-cases/stream-tails.ts";
import { streamCases } from "./public-cases/streams.ts";
import { suspendedEndCases } from "./public-cases/suspended-ends.ts";
import { suspendingCases } from "./public-cases/suspending.ts";
import { suspensionTimeoutCases } from "./public-cases/suspension-timeouts.ts";
import { tagCases } from "./public-cases/tags.ts";
import { tenantCases } from "./public-cases/tenants.ts";
import { timeoutCases } from "./public-cases/timeouts.ts";
import { unfitValueCases } from "./public-cases/unfit-values.ts";
import { usageCases } from "./public-cases/usage.ts";
import { waitingCases } from "./public-cases/waiting.ts";
import { waitpointCases } from "./public-cases/waitpoints.ts";
import { workerRegistryCases } from "./public-cases/worker-registry.ts";
import type { PublicRow } from "./public-rows.ts";
import { publicSuite, type Subjects } from "./public-suite.ts";

const always: Subjects = {
	situations: situationCases,
	creation: creationCases,
	idempotency: idempotencyCases,
	batches: batchCases,
	"claim order": claimOrderCases,
	capabilities: capabilityCases,
	"claim waiting": claimWaitingCases,
	"claim requests": claimRequestCases,
	renewals: renewalCases,
	fences: fenceCases,
	retries: retryCases,
	"hand-back": handBackCases,
	cancelling: cancelCases,
	operators: operatorCases,
	"lost work": lostWorkCases,
	timeouts: timeoutCases,
	retention: retentionCases,
	histories: historyCases,
	following: followingCases,
	"event waiting": eventWaitingCases,
	listing: listingCases,
	"list filters": listFilterCases,
	"list states": listStateCases,
	"list keys": listKeyCases,
	tags: tagCases,
	priorities: priorityCases,
	bulk: bulkCases,
	tenants: tenantCases,
	payloads: payloadCases,
	steps: stepCases,
	"handler steps": handlerStepCases,
	"handler waits": handlerWaitCases,
	waiting: waitingCases,
	notices: noticeCases,
	"worker registry": workerRegistryCases,
	lanes: laneCases,
	"lane states": laneStateCases,
	grants: grantCases,
	"quota admission": quotaAdmissionCases,
	"budget admission": budgetAdmissionCases,
	"grant requests": grantRequestCases,
	routes: routeCases,
	explaining: explainCases,
	fairness: fairnessCases,
	"details of failures": failureDetailCases,
	feeds: feedCases,
	budgets: budgetCases,
	"values that are not JSON": unfitValueCases,
	usage: usageCases,
	quotas: quotaCases,
	suspending: suspendingCases,
	conditions: conditionCases,
	waitpoints: waitpointCases,
	signals: signalCases,
	"replayed waits": replayedWaitCases,
	"suspension timeouts": suspensionTimeoutCases,
	approvals: approvalCases,
	"suspended ends": suspendedEndCases,
	"budget pauses": budgetPauseCases,
	"kept slots": keptSlotCases,
	streams: streamCases,
	"stream fences": streamFenceCases,
	"stream keeping": streamKeepingCases,
	"stream summaries": streamSummaryCases,
	"stream tails": streamTailCases,
	"handler streams": handlerStreamCases,
	children: childrenCases,
	"waiting for children": childrenWaitCases,
	"ends of parents": parentEndCases,
	"handler children": handlerChildrenCases,
	"flows: creation": flowCreationCases,
	"flows: bad graphs": badGraphCases,
	"flows: keys": flowKeyCases,
	"flows: building": flowBuildingCases,
	"flows: edges": flowEdgeCases,
	"flows: own waits": flowOwnWaitCases,
	"flows: results": flowResultCases,
	"flows: groups": flowGroupCases,
	"flows: states": flowStateCases,
	"flows: cancelling": flowCancelCases,
	"flows: answers of a cancel": flowCancelAnswerCases,
	"flows: replays": flowReplayCases,
	"flows: events": flowEventCases,
	"flows: listing": flowListingCases,
	"flows: removal": flowRemovalCases,
	"flows: tenants": flowTenantCases,
	administration: administrationCases,
	keys: keyCases,
	"bad creates": badCreateCases,
	"bad calls": badCallCases,
	"bad budgets": badBudgetCases,
};

/** What may depend on how many partitions there are. */
const partitioned: Subjects = {
	"claim order": claimOrderCases,
	"claim waiting": claimWaitingCases,
	listing: listingCases,
	lanes: laneCases,
};

/** Everything users are promised, on one row. */
export function publicSuites(row: PublicRow): void {
	publicSuite("public", row, { ...always, "turns of many": manyTurnCases, "flows: the largest": largestFlowCases });
	reopeningSuite(row);
}

/** On a row with more partitions than a claim looks at; all of it takes long. */
export function widestSuites(row: PublicRow, all: boolean): void {
	publicSuite("public at its widest", row, all ? always : partitioned);
	if (all) reopeningSuite(row);
}

function reopeningSuite(row: PublicRow): void {
	if (row.keeps)
		publicSuite("public over reopening", row, { reopening: reopeningCases, "flows: reopening": flowReopeningCases });
}
