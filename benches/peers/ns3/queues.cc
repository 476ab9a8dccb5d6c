// A queue disc of ns-3 by itself, on arrivals that crates/ackclock-core/tests/all/aqm_peers.rs computes as well: CSV on stdout.
//
// Nothing is sent through a network. A driver offers packets to the disc at given times and takes one out whenever the link, which
// serves a byte per tick of 1024 ns (7.8125 Mbit/s), is free. All times are whole ticks, so that ns-3's CoDel, which cuts nanoseconds to
// ticks, sees what a simulator with any other resolution sees. What falls on the same tick: the end of a transmission comes first.

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr int64_t TICK_NS = 1024;
constexpr uint64_t SECOND = 976'562; // in ticks, about
constexpr uint64_t END = 40 * SECOND;
constexpr uint64_t RANDOM_RUNS = 8;
constexpr uint32_t LISTED_EVENTS = 50;

struct Arrival
{
    uint64_t tick;
    uint32_t len;
    uint32_t flow;
    uint8_t ecn;
};

// Knuth's MMIX generator, upper half of its state.
class Lcg
{
  public:
    uint32_t Next()
    {
        m_state = m_state * 6364136223846793005u + 1442695040888963407u;
        return m_state >> 32;
    }

    // Exponential with the given mean, in whole numbers (von Neumann 1951): a uniform number is accepted if the
    // descending run that it begins has odd length.
    uint64_t Exponential(uint64_t mean)
    {
        for (uint64_t whole = 0;; ++whole)
        {
            const uint32_t first = Next();
            uint32_t last = first;
            bool odd = true;
            for (uint32_t u = Next(); u < last; u = Next())
            {
                last = u;
                odd = !odd;
            }
            if (odd)
            {
                return (mean * ((whole << 32) + first)) >> 32;
            }
        }
    }

  private:
    uint64_t m_state = 1;
};

std::vector<Arrival>
Arrivals(const std::string& pattern)
{
    Lcg lcg;
    std::vector<Arrival> all;
    uint64_t at = 0;
    const auto push = [&](uint32_t len, uint32_t flow) { all.push_back({at, len, flow, uint8_t((flow + 1) % 3)}); };
    const auto poisson = [&](const std::function<uint64_t()>& mean) {
        for (at += lcg.Exponential(mean()); at < END; at += lcg.Exponential(mean()))
        {
            push(1500, lcg.Next() >> 30);
        }
    };
    if (pattern == "constant 110 %")
    {
        for (; at < END; at += 1364)
        {
            push(1500, 0);
        }
    }
    else if (pattern == "Poisson 95 %")
    {
        poisson([] { return 1579; });
    }
    else if (pattern == "Poisson 120 %")
    {
        poisson([] { return 1250; });
    }
    else if (pattern == "on/off 150 %")
    {
        poisson([&] { return at / SECOND % 2 == 0 ? 1000 : 7500; });
    }
    else if (pattern == "bursts 92 %")
    {
        for (; at < END; at += SECOND / 10)
        {
            for (uint32_t i = 0; i < 60; ++i)
            {
                push(1500, i % 4);
            }
        }
    }
    else if (pattern == "mixed 115 %")
    {
        const uint32_t sizes[] = {64, 576, 1500, 1500};
        for (at += lcg.Exponential(791); at < END; at += lcg.Exponential(791))
        {
            const uint32_t len = sizes[lcg.Next() >> 30];
            const uint32_t draw = lcg.Next() >> 28;
            push(len, draw < 8 ? 0 : draw - 7);
        }
    }
    return all;
}

class Item : public QueueDiscItem
{
  public:
    Item(uint32_t index, const Arrival& arrival)
        : QueueDiscItem(Create<Packet>(arrival.len), Address(), 0),
          m_index(index),
          m_flow(arrival.flow),
          m_ecn(arrival.ecn)
    {
    }

    void AddHeader() override
    {
    }

    bool Mark() override
    {
        m_ecn = m_ecn ? 3 : 0;
        return m_ecn;
    }

    uint32_t Hash(uint32_t) const override
    {
        return m_flow;
    }

    const uint32_t m_index;

  private:
    uint32_t m_flow;
    uint8_t m_ecn;
};

struct Discipline
{
    const char* name;
    const char* type;
    bool random;
    std::map<std::string, std::string> attributes;
};

const std::vector<Discipline> DISCIPLINES = {
    {"fifo", "FifoQueueDisc", false, {{"MaxSize", "100p"}}},
    {"codel", "CoDelQueueDisc", false, {{"MaxSize", "1000p"}}},
    {"codel 100 packets", "CoDelQueueDisc", false, {{"MaxSize", "100p"}}},
    {"codel ecn", "CoDelQueueDisc", false, {{"MaxSize", "1000p"}, {"UseEcn", "true"}}},
    {"fq_codel", "FqCoDelQueueDisc", false, {{"UseEcn", "false"}}},
    {"fq_codel 100 packets", "FqCoDelQueueDisc", false, {{"UseEcn", "false"}, {"MaxSize", "100p"}}},
    {"fq_codel ecn", "FqCoDelQueueDisc", false, {{"UseEcn", "true"}}},
    {"red", "RedQueueDisc", true, {{"MaxSize", "100p"}}},
    {"red not gentle", "RedQueueDisc", true, {{"MaxSize", "100p"}, {"Gentle", "false"}}},
    {"red not gentle count kept", "RedQueueDisc", true, {{"MaxSize", "100p"}, {"Gentle", "false"}, {"Ns1Compat", "false"}}},
    {"red no wait", "RedQueueDisc", true, {{"MaxSize", "100p"}, {"Wait", "false"}}},
    {"red ecn", "RedQueueDisc", true, {{"MaxSize", "100p"}, {"UseEcn", "true"}}},
    {"red adaptive", "RedQueueDisc", true, {{"MaxSize", "100p"}, {"AdaptMaxP", "true"}, {"Gentle", "false"}}},
    {"red ared", "RedQueueDisc", true, {{"MaxSize", "100p"}, {"ARED", "true"}, {"Gentle", "false"}}},
    {"red bytes", "RedQueueDisc", true, {{"MaxSize", "100000B"}, {"MinTh", "7500"}, {"MaxTh", "22500"}, {"MeanPktSize", "1000"}}},
    {"pie", "PieQueueDisc", true, {{"MaxSize", "1000p"}}},
    {"pie spread", "PieQueueDisc", true, {{"MaxSize", "1000p"}, {"UseDerandomization", "true"}}},
    {"pie rate", "PieQueueDisc", true, {{"MaxSize", "1000p"}, {"UseDequeueRateEstimator", "true"}}},
    {"pie ecn", "PieQueueDisc", true, {{"MaxSize", "1000p"}, {"UseEcn", "true"}}},
};

class Run
{
  public:
    Run(const Discipline& discipline, const std::vector<Arrival>& arrivals, uint64_t run)
        : m_arrivals(arrivals)
    {
        ObjectFactory factory("ns3::" + std::string(discipline.type));
        if (discipline.type == std::string("RedQueueDisc"))
        {
            // A drop beyond the maximum starts the count of packets anew only with Ns1Compat (in ns-2: only without).
            factory.Set("Ns1Compat", BooleanValue(true));
            // The paper's; ns-3's own follows from the rate, and is lower on this link.
            factory.Set("Bottom", DoubleValue(0.01));
            factory.Set("LinkBandwidth", StringValue("7812500bps"));
            factory.Set("LinkDelay", StringValue("20ms"));
        }
        for (const auto& [name, value] : discipline.attributes)
        {
            factory.Set(name, StringValue(value));
        }
        m_disc = factory.Create<QueueDisc>();
        if (auto red = DynamicCast<RedQueueDisc>(m_disc))
        {
            red->AssignStreams(run);
        }
        if (auto pie = DynamicCast<PieQueueDisc>(m_disc))
        {
            pie->AssignStreams(run);
        }
        if (auto fq = DynamicCast<FqCoDelQueueDisc>(m_disc))
        {
            fq->SetQuantum(1500);
        }
        m_disc->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Run::Dropped, this));
        m_disc->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Run::Dropped, this));
        m_disc->TraceConnectWithoutContext("Mark", MakeCallback(&Run::Marked, this));
        m_disc->Initialize();
        Simulator::ScheduleNow(&Run::Step, this);
        Simulator::Stop(NanoSeconds(END * TICK_NS));
        Simulator::Run();
        Simulator::Destroy();
        std::sort(m_waited.begin(), m_waited.end());
    }

    double MeanWait() const
    {
        double sum = 0;
        for (uint64_t waited : m_waited)
        {
            sum += waited;
        }
        return m_waited.empty() ? 0 : sum / m_waited.size() * TICK_NS * 1e-6;
    }

    double Wait95() const
    {
        return m_waited.empty() ? 0 : m_waited[(95 * m_waited.size() + 99) / 100 - 1] * TICK_NS * 1e-6;
    }

    double Served() const
    {
        return m_waited.size();
    }

    std::map<std::string, double> m_drops;
    double m_marks = 0;
    // Ticks, number of the packet, and what became of it.
    struct Event
    {
        uint64_t tick;
        uint32_t packet;
        std::string what;
    };
    std::vector<Event> m_events;

  private:
    static uint64_t Ticks()
    {
        return Simulator::Now().GetNanoSeconds() / TICK_NS;
    }

    void Step()
    {
        const uint64_t now = Ticks();
        if (m_busy && m_free == now)
        {
            Serve();
        }
        for (; m_next < m_arrivals.size() && m_arrivals[m_next].tick == now; ++m_next)
        {
            m_disc->Enqueue(Create<Item>(m_next, m_arrivals[m_next]));
            if (!m_busy)
            {
                Serve();
            }
        }
        const uint64_t arrival = m_next < m_arrivals.size() ? m_arrivals[m_next].tick : END;
        const uint64_t next = m_busy ? std::min(m_free, arrival) : arrival;
        if (next < END)
        {
            Simulator::Schedule(NanoSeconds((next - now) * TICK_NS), &Run::Step, this);
        }
    }

    void Serve()
    {
        Ptr<QueueDiscItem> item = m_disc->Dequeue();
        m_busy = item != nullptr;
        if (m_busy)
        {
            const uint64_t now = Ticks();
            m_free = now + item->GetSize();
            m_waited.push_back(now - m_arrivals[DynamicCast<Item>(item)->m_index].tick);
        }
    }

    void Note(Ptr<const QueueDiscItem> item, const std::string& what)
    {
        m_events.push_back({Ticks(), DynamicCast<const Item>(item)->m_index, what});
    }

    void Dropped(Ptr<const QueueDiscItem> item, const char* reason)
    {
        const bool red = DynamicCast<RedQueueDisc>(m_disc) != nullptr;
        const char* what = std::strstr(reason, "Unforced drop")          ? "early"
                           : std::strstr(reason, "Target exceeded drop") ? "delay"
                           : red && std::strstr(reason, "Forced drop")   ? "threshold"
                                                                         : "full";
        ++m_drops[what];
        Note(item, what);
    }

    void Marked(Ptr<const QueueDiscItem> item, const char*)
    {
        ++m_marks;
        Note(item, "mark");
    }

    const std::vector<Arrival>& m_arrivals;
    Ptr<QueueDisc> m_disc;
    std::size_t m_next = 0;
    bool m_busy = false;
    uint64_t m_free = 0;
    std::vector<uint64_t> m_waited;
};

} // namespace

int
main(int argc, char* argv[])
{
    std::string events;
    CommandLine command;
    command.AddValue("events", "CSV for the first drops and marks of the disciplines that draw nothing", events);
    command.Parse(argc, argv);
    std::FILE* list = events.empty() ? nullptr : std::fopen(events.c_str(), "w");
    NS_ABORT_MSG_IF(!events.empty() && !list, "cannot write " << events);
    if (list)
    {
        std::fprintf(list, "pattern,queue,tick,packet,what\n");
    }
    std::printf("pattern,queue,arrivals,last_tick,runs,early,threshold,delay,full,marks,served,mean_ms,p95_ms\n");
    for (const char* pattern :
         {"constant 110 %", "Poisson 95 %", "Poisson 120 %", "bursts 92 %", "on/off 150 %", "mixed 115 %"})
    {
        const std::vector<Arrival> arrivals = Arrivals(pattern);
        for (const Discipline& discipline : DISCIPLINES)
        {
            const uint64_t runs = discipline.random ? RANDOM_RUNS : 1;
            std::map<std::string, double> sum;
            for (uint64_t n = 1; n <= runs; ++n)
            {
                Run run(discipline, arrivals, n);
                for (const auto& [reason, drops] : run.m_drops)
                {
                    sum[reason] += drops / runs;
                }
                sum["marks"] += run.m_marks / runs;
                sum["served"] += run.Served() / runs;
                sum["mean"] += run.MeanWait() / runs;
                sum["p95"] += run.Wait95() / runs;
                for (std::size_t i = 0; list && !discipline.random && i < std::min<std::size_t>(LISTED_EVENTS, run.m_events.size()); ++i)
                {
                    const auto& event = run.m_events[i];
                    std::fprintf(list, "%s,%s,%" PRIu64 ",%u,%s\n", pattern, discipline.name, event.tick, event.packet, event.what.c_str());
                }
            }
            std::printf("%s,%s,%zu,%" PRIu64 ",%" PRIu64 ",%g,%g,%g,%g,%.10g,%.10g,%.3f,%.3f\n",
                        pattern, discipline.name, arrivals.size(), arrivals.back().tick, runs, sum["early"], sum["threshold"],
                        sum["delay"], sum["full"], sum["marks"], sum["served"], sum["mean"], sum["p95"]);
        }
    }
    if (list)
    {
        NS_ABORT_MSG_IF(std::fclose(list) != 0, "the events could not be written");
    }
    return 0;
}
