# Packets at given times through ns-2's Queue/DRR or Queue/FQ over one link; its trace of enqueued, dropped and received packets goes to
# --trace.
#
#   --queue=DRR|FQ --arrivals=FILE --trace=FILE --rate-bps=N --limit=N --set="quantum_ 1000,blimit_ 25000"
#
# A line of the arrivals: time in seconds, flow, bytes. Flow i is an agent with flow number i and address 100 + i.

array set cfg {queue DRR  arrivals ""  trace ""  rate-bps 8000000  set ""  limit 0}
foreach argument $argv {
    if {![regexp {^--([^=]+)=(.*)$} $argument -> key value]} { puts stderr "options have the form --name=value, not $argument"; exit 2 }
    if {![info exists cfg($key)]} { puts stderr "unknown option --$key; known: [lsort [array names cfg]]"; exit 2 }
    set cfg($key) $value
}
remove-all-packet-headers
add-packet-header IP Flags RTP
foreach setting [split $cfg(set) ,] { lassign $setting name value; Queue/$cfg(queue) set $name $value }
if {$cfg(limit)} { Queue set limit_ $cfg(limit) }

set ns [new Simulator]
set trace [open $cfg(trace) w]
$ns trace-all $trace
set from [$ns node]
set to [$ns node]
$ns simplex-link $from $to $cfg(rate-bps) 0 $cfg(queue)
set sink [new Agent/Null]
$ns attach-agent $to $sink
set file [open $cfg(arrivals)]
set lines [split [string trim [read $file]] "\n"]
close $file
set last 0
foreach line $lines {
    lassign $line time flow bytes
    if {![info exists agent($flow)]} {
        set agent($flow) [new Agent/UDP]
        $agent($flow) set packetSize_ 65000
        $agent($flow) set fid_ $flow
        $ns attach-agent $from $agent($flow)
        $ns connect $agent($flow) $sink
        # DRR knows flows by the address of the sender's node; all of ours sit on one.
        $agent($flow) set agent_addr_ [expr {100 + $flow}]
    }
    $ns at $time "$agent($flow) send $bytes"
    set last $time
}
$ns at [expr {$last + 100}] { close $trace; exit 0 }
$ns run
