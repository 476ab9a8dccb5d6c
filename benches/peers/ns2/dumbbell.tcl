# Bulk TCP flows over one DropTail bottleneck, on ns-2; one JSON line on stdout. Options as in ../ns3/dumbbell.cc.
#
#   senders --[bottleneck: rate, queue, rtt/2]--> receivers --[reverse link, rtt/2]--> senders
#
# Without --access-rate-bps all agents sit on the two nodes of the bottleneck. With it every sender and receiver has a node and an access link.
#
# Wire size: a full packet is mss + 40 + 12 (timestamps) + overhead. ns-2 has one number for all header bytes, so SYN and ACK carry the same
# 66 bytes of headers and a data packet 1448 + 66 = 1514.
#
# The queue: ns-2's DropTail refuses the packet that would make it as long as its limit, so limit_ L holds L - 1 waiting packets; the packet in
# transmission is outside the queue. --queue-packets Q is translated to hold exactly Q waiting (or Q with the one in transmission).

# --headers=all leaves every packet header registered, as a script that says nothing about them does.
if {[lsearch -exact $argv --headers=all] < 0} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}

array set cfg {
    flows 1  rate-bps 10000000  rtt-ms 40  queue-packets 33  queue-counts-service 0  duration 10  mss 1448  overhead 14
    cc sack1  timestamps 1  limited-transmit 1  iw 10  delack 2  delack-ms 200  min-rto-ms 200  tick-ms 10
    red ""  run 1
    start 0  start-step-ms 0  access-rate-bps 0  reverse-rate-bps 0  drops ""  series ""  light 0  startup-only 0  headers needed
}
foreach argument $argv {
    if {![regexp {^--([^=]+)=(.*)$} $argument -> key value]} { puts stderr "options have the form --name=value, not $argument"; exit 2 }
    if {![info exists cfg($key)]} { puts stderr "unknown option --$key; known: [lsort [array names cfg]]"; exit 2 }
    set cfg($key) $value
}
if {$cfg(delack) != 1 && $cfg(delack) != 2} { puts stderr "--delack must be 1 or 2: ns-2 knows nothing else"; exit 2 }
if {$cfg(light) && $cfg(series) ne ""} { puts stderr "--light and --series exclude each other"; exit 2 }
if {$cfg(drops) ne "" && $cfg(flows) != 1} { puts stderr "--drops needs exactly one flow"; exit 2 }

# Entry i of a comma list; the last one repeats.
proc nth {list i} {
    set items [split $list ,]
    return [lindex $items [expr {min($i, [llength $items] - 1)}]]
}

set ts_bytes [expr {$cfg(timestamps) ? 12 : 0}]
set header_bytes [expr {40 + $ts_bytes + $cfg(overhead)}]
set wire_bytes [expr {$cfg(mss) + $header_bytes}]

Agent/TCP set packetSize_ $cfg(mss)
Agent/TCP set tcpip_base_hdr_size_ [expr {$header_bytes - $ts_bytes}]
Agent/TCP set ts_option_size_ $ts_bytes
Agent/TCP set timestamps_ [expr {$cfg(timestamps) ? "true" : "false"}]
Agent/TCP set window_ 10000000
Agent/TCP set windowInit_ $cfg(iw)
Agent/TCP set singledup_ $cfg(limited-transmit)
Agent/TCP set minrto_ [expr {$cfg(min-rto-ms) / 1000.0}]
Agent/TCP set tcpTick_ [expr {$cfg(tick-ms) / 1000.0}]
Agent/TCPSink set packetSize_ $header_bytes
Agent/TCPSink/DelAck set interval_ [expr {$cfg(delack-ms) / 1000.0}]
Agent/TCPSink/Sack1/DelAck set interval_ [expr {$cfg(delack-ms) / 1000.0}]

# Agent classes of a flow: sender and receiver.
proc agents {cc delack} {
    set sender [dict create sack1 Agent/TCP/Sack1 newreno Agent/TCP/Newreno reno Agent/TCP/Reno tahoe Agent/TCP]
    if {![dict exists $sender $cc]} { puts stderr "unknown --cc $cc; known: [dict keys $sender]"; exit 2 }
    set sink Agent/TCPSink
    if {$cc eq "sack1"} { append sink /Sack1 }
    if {$delack == 2} { append sink /DelAck }
    return [list [dict get $sender $cc] $sink]
}

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
set half [expr {$cfg(rtt-ms) / 2000.0}]
set reverse_rate [expr {$cfg(reverse-rate-bps) > 0 ? $cfg(reverse-rate-bps) : 100000000000.0}]
# --red=NAME=VALUE,...: RED of 2001 in packets in the place of DropTail, with these settings changed.
if {$cfg(red) ne ""} {
    ns-random [expr {12345 * $cfg(run)}]
    foreach {name value} {bytes_ false queue_in_bytes_ false thresh_ 5 maxthresh_ 15 q_weight_ 0.002 use_mark_p_ false gentle_ true
                          mean_pktsize_ 500} { Queue/RED set $name $value }
    foreach setting [split $cfg(red) ,] {
        foreach {name value} [split $setting =] { Queue/RED set $name $value }
    }
}
$ns simplex-link $left $right $cfg(rate-bps) $half [expr {$cfg(red) eq "" ? "DropTail" : "RED"}]
$ns simplex-link $right $left $reverse_rate $half DropTail
set waiting_limit [expr {max(1, $cfg(queue-packets) - ($cfg(queue-counts-service) ? 1 : 0))}]
$ns queue-limit $left $right [expr {$waiting_limit + ($cfg(red) eq "" ? 1 : 0)}]
if {$cfg(red) ne ""} {
    set trace_name [exec mktemp]
    $ns trace-queue $left $right [set trace [open $trace_name w]]
}
$ns queue-limit $right $left 1000000

if {$cfg(drops) ne ""} {
    set losses [new ErrorModel/List]
    $losses unit pkt
    $losses droplist [split $cfg(drops) ,]                 ;# the model counts from 0 and the SYN comes first
    $ns link-lossmodel $losses $left $right
    $losses drop-target [new Agent/Null]                   ;# not to the queue's own drop counter
}

for {set i 0} {$i < $cfg(flows)} {incr i} {
    set from $left
    set to $right
    if {$cfg(access-rate-bps) > 0} {
        set from [$ns node]
        set to [$ns node]
        foreach {a b} [list $from $left $right $to] {
            $ns duplex-link $a $b $cfg(access-rate-bps) 0 DropTail
            $ns queue-limit $a $b 1000000
            $ns queue-limit $b $a 1000000
        }
    }
    foreach {sender sink} [agents [nth $cfg(cc) $i] $cfg(delack)] {}
    set tcp($i) [new $sender]
    set recv($i) [new $sink]
    $tcp($i) set fid_ $i
    $ns attach-agent $from $tcp($i)
    $ns attach-agent $to $recv($i)
    $ns connect $tcp($i) $recv($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    set start($i) [expr {[nth $cfg(start) $i] + $i * $cfg(start-step-ms) / 1000.0}]
    $ns at $start($i) "$ftp($i) start"
}

# Series: the raw traces of ns-2 go to files beside the CSV and are rewritten at the end.
if {$cfg(series) ne ""} {
    for {set i 0} {$i < $cfg(flows)} {incr i} {
        set raw($i) [open $cfg(series).flow$i w]
        $tcp($i) attach $raw($i)
        foreach variable {cwnd_ ssthresh_ nrexmit_ nrexmitpack_ ncwndcuts_} { $tcp($i) trace $variable }
    }
}
if {!$cfg(light)} {
    set monitor [$ns monitor-queue $left $right ""]
    if {$cfg(series) ne ""} {
        set raw(link) [open $cfg(series).link w]
        $monitor trace $raw(link)
    }
    for {set i 0} {$i < $cfg(flows)} {incr i} {
        set cwnd_sum($i) 0.0
        set cwnd_count($i) 0
    }
    $ns at 0 sample
}

# Mean cwnd by sampling every 5 ms (a trace of every change would cost more than the simulation).
proc sample {} {
    global ns cfg tcp start cwnd_sum cwnd_count
    for {set i 0} {$i < $cfg(flows)} {incr i} {
        if {[$ns now] >= $start($i)} {
            set cwnd_sum($i) [expr {$cwnd_sum($i) + [$tcp($i) set cwnd_]}]
            incr cwnd_count($i)
        }
    }
    $ns at [expr {[$ns now] + 0.005}] sample
}

# Rewrites the raw traces as time,flow,what,value and returns the largest queue seen.
proc write_series {} {
    global cfg raw waiting_limit
    set out [open $cfg(series) w]
    puts $out "time,flow,what,value"
    set names [dict create cwnd_ cwnd ssthresh_ ssthresh nrexmit_ timeout nrexmitpack_ retransmit ncwndcuts_ cut]
    for {set i 0} {$i < $cfg(flows)} {incr i} {
        close $raw($i)
        set in [open $cfg(series).flow$i r]
        while {[gets $in line] >= 0} {
            if {[llength $line] == 7} { puts $out "[lindex $line 0],$i,[dict get $names [lindex $line 5]],[lindex $line 6]" }
        }
        close $in
        file delete $cfg(series).flow$i
    }
    close $raw(link)
    set in [open $cfg(series).link r]
    set largest 0
    while {[gets $in line] >= 0} {
        # q -t TIME -s SRC -d DST -l BYTES -p PACKETS
        set packets [lindex $line end]
        if {$packets > $waiting_limit} continue            ;# an arrival that is about to be dropped
        if {$packets > $largest} { set largest $packets }
        puts $out "[lindex $line 2],link,queue,$packets"
    }
    close $in
    file delete $cfg(series).link
    close $out
    return $largest
}

proc peak_rss_kb {} {
    set in [open /proc/self/status r]
    regexp {VmHWM:\s+(\d+)} [read $in] -> kb
    close $in
    return $kb
}

# CPU time of this process in s: the first number of schedstat is in ns. Tcl itself has only the wall clock.
proc cpu_seconds {} {
    set in [open /proc/self/schedstat r]
    set ns [lindex [read $in] 0]
    close $in
    return [expr {$ns * 1e-9}]
}

# `, "name": [...]`, one value per flow: COMMAND with the flow's number appended.
proc per_flow {name command} {
    global cfg
    set values {}
    for {set i 0} {$i < $cfg(flows)} {incr i} { lappend values [{*}$command $i] }
    return ", \"$name\": \[[join $values {, }]\]"
}

# In-order payload bytes at the receiver. The sink counts whole packets, the SYN among them, in 32 bits.
proc delivered {i} {
    global recv header_bytes wire_bytes cfg
    set bytes [expr {[$recv($i) set bytes_] & 0xffffffff}]
    return [expr {$bytes > $header_bytes ? ($bytes - $header_bytes) / $wire_bytes * $cfg(mss) : 0}]
}

proc goodput {i} {
    global cfg start
    set active [expr {$cfg(duration) - $start($i)}]
    return [format %.10g [expr {$active > 0 ? [delivered $i] * 8.0 / $active : 0}]]
}

proc counter {variable i} {
    global tcp
    return [$tcp($i) set $variable]
}

# ns-2 counts the SYN as a data packet.
proc segments_sent {i} {
    return [expr {max(0, [counter ndatapack_ $i] - 1)}]
}

proc mean_cwnd {i} {
    global cwnd_sum cwnd_count
    return [format %.6f [expr {$cwnd_count($i) ? $cwnd_sum($i) / $cwnd_count($i) : 0}]]
}

# The monitor sits around the queue: a packet departs when its transmission begins.
proc link_results {} {
    global ns cfg monitor waiting_limit start wire_bytes header_bytes
    set integrator [$monitor get-pkts-integrator]
    $integrator newpoint [$ns now] [$monitor set pkts_]
    set drops [$monitor set pdrops_]
    set largest null
    if {$cfg(series) ne ""} { set largest [write_series] }
    if {$drops > 0} { set largest $waiting_limit }        ;# a DropTail queue that dropped was full
    set syns 0
    for {set i 0} {$i < $cfg(flows)} {incr i} { incr syns [expr {[$ns now] > $start($i)}] }
    set served [expr {[$monitor set pdepartures_] - $syns}]
    set bits [expr {8.0 * ($served * $wire_bytes + $syns * $header_bytes)}]
    set out ", \"data_packets_served\": $served, \"drops\": $drops"
    append out ", \"utilisation\": [format %.8f [expr {$bits / ($cfg(rate-bps) * 1.0 * $cfg(duration))}]]"
    append out ", \"mean_queue_waiting\": [format %.6f [expr {[$integrator set sum_] / $cfg(duration)}]]"
    append out ", \"max_queue_waiting\": $largest"
    return $out
}

# Mean and 95th percentile of the time between arrival and beginning of the transmission, from the trace of the queue.
proc wait_results {} {
    global trace trace_name
    close $trace
    set in [open $trace_name r]
    set waits {}
    set sum 0.0
    while {[gets $in line] >= 0} {
        # + (arrival), - (transmission), d (drop) or r, time, ..., number of the packet
        set packet [lindex $line end]
        switch -- [lindex $line 0] {
            + { set arrived($packet) [lindex $line 1] }
            - {
                lappend waits [set wait [expr {[lindex $line 1] - $arrived($packet)}]]
                set sum [expr {$sum + $wait}]
            }
        }
    }
    close $in
    file delete $trace_name
    set waits [lsort -real $waits]
    set n [llength $waits]
    set p95 [lindex $waits [expr {(95 * $n + 99) / 100 - 1}]]
    return ", \"mean_wait_s\": [format %.9f [expr {$sum / $n}]], \"p95_wait_s\": [format %.9f $p95]"
}

proc finish {} {
    global ns cfg cpu_before
    $ns flush-trace
    set out "{\"program\": \"ns-2\", \"version\": \"[ns-version]\", \"duration_s\": $cfg(duration)"
    append out ", \"cpu_run_s\": [format %.6f [expr {[cpu_seconds] - $cpu_before}]], \"peak_rss_kb\": [peak_rss_kb]"
    if {!$cfg(light)} { append out [link_results] }
    if {$cfg(red) ne ""} { append out [wait_results] }
    append out [per_flow goodput_bps goodput] [per_flow delivered_bytes delivered]
    if {!$cfg(light)} {
        append out [per_flow segments_sent segments_sent] [per_flow retransmitted {counter nrexmitpack_}]
        append out [per_flow timeouts {counter nrexmit_}] [per_flow window_cuts {counter ncwndcuts_}]
        append out [per_flow mean_cwnd_segments mean_cwnd]
    }
    puts "$out}"
    exit 0
}

$ns at [expr {$cfg(startup-only) ? 1e-9 : $cfg(duration)}] finish
set cpu_before [cpu_seconds]
$ns run
