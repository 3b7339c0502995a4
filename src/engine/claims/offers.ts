import { canServe, type Offer, offersAll } from "../../kernel/matching.ts";
import { classOfQueue, eligibleQueuePrefix, type WorkClass } from "../../kernel/placement.ts";
import { KnownTexts } from "../known-texts.ts";

/** Enough for every worker of a large installation; beyond it what is known is made anew. */
const MOST_OFFERS = 1024;
const MOST_CLASSES = 16_384;

const offers = new KnownTexts<Offer>(MOST_OFFERS);

/** The same object for the same offer, so that what was worked out for one claim serves all that are alike. */
export function sameOffer({ kinds, capabilities }: Offer): Offer {
	const text = JSON.stringify([kinds ?? null, capabilities]);
	const known = offers.get(text);
	if (known) return known;
	const offer: Offer = { kinds, capabilities };
	offers.set(text, offer);
	return offer;
}

interface QueueClass extends WorkClass {
	/** The part of the queue's name that all classes of its lane share. */
	prefix: string;
}

const classes = new KnownTexts<QueueClass>(MOST_CLASSES);

/** What a queue is for; its name is taken apart once. */
export function classOf(queue: string): QueueClass {
	const known = classes.get(queue);
	if (known) return known;
	const work = classOfQueue(queue);
	const found = { ...work, prefix: eligibleQueuePrefix(work.namespace, work.lane) };
	classes.set(queue, found);
	return found;
}

export const servesQueue = (offer: Offer, queue: string): boolean => canServe(offer, classOf(queue));

/** Whether a worker lacks a capability that work in this queue requires. */
export const lacksFor = (offer: Offer, queue: string): boolean =>
	!offersAll(offer.capabilities, classOf(queue).requiredCapabilities);
