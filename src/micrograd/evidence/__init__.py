"""Evidence that a trace is right: it is compared with runs of the function, before it answers calls and for some time after.

compared     what is known of one trace: on which numbers it was compared, and how long that goes on
twice        two traces have to be the same, and what the function reaches has to be as it was between them
plain_runs   a run on plain numbers has to give what the trace gives
merged       a trace of many paths has to give what the path of each row gives, on rows that take all arms (arms)
rounding     how far two sums of the same derivatives may be apart
typed_runs   a typed kernel has to give what plain Python and eager code give
checker      the comparisons, in the order in which they are made
"""
